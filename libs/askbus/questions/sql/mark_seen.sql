-- This person has seen these: those that are open, that they see, and that they had not seen yet (or were reminded of since). Holding the
-- questions keeps each of them open until that is stored.
WITH shown AS MATERIALIZED (
    SELECT q.id FROM questions q
     WHERE q.id = ANY (:ids::uuid[]) AND q.workspace_id = :workspace_id AND q.state = 'open' AND q.expires_at > now()
       AND (:projects::uuid[] IS NULL OR q.project_id = ANY (:projects::uuid[]))
       AND EXISTS (SELECT FROM question_viewers v WHERE v.question_id = q.id AND v.user_id = :user_id)
     ORDER BY q.id
       FOR SHARE OF q),
marked AS (
    INSERT INTO question_marks (question_id, user_id, seen_at, trace)
    SELECT s.id, :user_id, now(), :trace FROM shown s
        ON CONFLICT (user_id, question_id) DO UPDATE SET seen_at = EXCLUDED.seen_at, trace = EXCLUDED.trace
     WHERE NOT coalesce((SELECT k.seen FROM question_marks_now k
                          WHERE k.question_id = EXCLUDED.question_id AND k.user_id = EXCLUDED.user_id), false))
SELECT id FROM shown ORDER BY id
