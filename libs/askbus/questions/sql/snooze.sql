-- Puts an open question off for this person until a time; null ends that. Holding the question keeps it open until that is stored.
-- No row: there is no such question, or it is over. `in_time`: whether the time is later than now and within the longest snooze.
WITH shown AS MATERIALIZED (
    SELECT q.id, coalesce(:until > now() AND :until <= now() + :longest::interval, true) AS in_time
      FROM questions q
     WHERE q.id = :id AND q.workspace_id = :workspace_id AND q.state = 'open' AND q.expires_at > now()
       AND (:projects::uuid[] IS NULL OR q.project_id = ANY (:projects::uuid[]))
       AND EXISTS (SELECT FROM question_viewers v WHERE v.question_id = q.id AND v.user_id = :user_id)
       FOR SHARE OF q),
snoozed AS (
    INSERT INTO question_marks (question_id, user_id, snoozed_at, snoozed_until, trace)
    SELECT id, :user_id, now(), :until, :trace FROM shown WHERE in_time AND :until::timestamptz IS NOT NULL
        ON CONFLICT (user_id, question_id) DO UPDATE
           SET snoozed_at = EXCLUDED.snoozed_at, snoozed_until = EXCLUDED.snoozed_until, trace = EXCLUDED.trace),
ended AS (
    UPDATE question_marks SET snoozed_at = NULL, snoozed_until = NULL, trace = :trace
     WHERE question_id IN (SELECT id FROM shown) AND user_id = :user_id AND :until::timestamptz IS NULL AND snoozed_until IS NOT NULL)
SELECT id, in_time FROM shown
