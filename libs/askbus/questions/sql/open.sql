-- A page of open questions that this principal may see, the most urgent first and of these the newest.
-- `:asker`, `:assignee` and `:priority` keep those of theirs, `:unseen` those that its person has not seen, `:before` what comes after that
-- question. Each way to look is a branch of its own, with the index that holds its order: only the one that is asked for is read, and in
-- each project no further than a page. What else a row must have is one CASE: of that the planner expects a half, so it goes by the order.
WITH mine AS MATERIALIZED (
    SELECT a.project_id
      FROM project_access a
     WHERE a.user_id = :user_id AND a.workspace_id = :workspace_id
       AND (:projects::uuid[] IS NULL OR a.project_id = ANY (:projects::uuid[]))
       AND (:project_id::uuid IS NULL OR a.project_id = :project_id)),
start AS MATERIALIZED (
    SELECT coalesce(b.priority, :priority, 'urgent') AS priority, coalesce(b.asked_at, 'infinity') AS asked_at,
           coalesce(b.id, 'ffffffff-ffff-ffff-ffff-ffffffffffff') AS id
      FROM (VALUES (true)) one
      LEFT JOIN questions b ON b.id = :before AND b.workspace_id = :workspace_id
     WHERE :before::uuid IS NULL OR b.id IS NOT NULL),
in_projects AS (
    SELECT q.*
      FROM mine m
     CROSS JOIN LATERAL (
           SELECT q.id, q.priority, q.asked_at
             FROM open_questions q
            WHERE q.project_id = m.project_id
              AND (q.priority, q.asked_at, q.id) < ((SELECT priority FROM start), (SELECT asked_at FROM start), (SELECT id FROM start))
              AND q.priority >= coalesce(:priority, 'low'::priority)
              AND CASE WHEN (q.turn_id IS NULL OR q.user_id = :user_id) AND (:priority::priority IS NULL OR q.priority = :priority)
                        AND NOT (:unseen AND EXISTS (SELECT FROM question_marks_now k
                                                      WHERE k.question_id = q.id AND k.user_id = :user_id AND k.seen))
                       THEN true ELSE false END
            ORDER BY q.priority DESC, q.asked_at DESC, q.id DESC LIMIT :limit) q
     WHERE :assignee::uuid IS NULL AND :asker::uuid IS NULL),
assigned AS (
    SELECT q.*
      FROM mine m
     CROSS JOIN LATERAL (
           SELECT q.id, q.priority, q.asked_at
             FROM open_questions q
            WHERE q.project_id = m.project_id AND q.assignee_id = :assignee
              AND (q.priority, q.asked_at, q.id) < ((SELECT priority FROM start), (SELECT asked_at FROM start), (SELECT id FROM start))
              AND q.priority >= coalesce(:priority, 'low'::priority)
              AND CASE WHEN (q.turn_id IS NULL OR q.user_id = :user_id) AND (:priority::priority IS NULL OR q.priority = :priority)
                        AND NOT (:unseen AND EXISTS (SELECT FROM question_marks_now k
                                                      WHERE k.question_id = q.id AND k.user_id = :user_id AND k.seen))
                       THEN true ELSE false END
            ORDER BY q.priority DESC, q.asked_at DESC, q.id DESC LIMIT :limit) q
     WHERE :assignee::uuid IS NOT NULL AND :asker::uuid IS NULL),
asked AS (
    SELECT q.*
      FROM mine m
     CROSS JOIN LATERAL (
           SELECT q.id, q.priority, q.asked_at
             FROM open_questions q
            WHERE q.asker_id = :asker AND q.project_id = m.project_id
              AND (q.priority, q.asked_at, q.id) < ((SELECT priority FROM start), (SELECT asked_at FROM start), (SELECT id FROM start))
              AND q.priority >= coalesce(:priority, 'low'::priority)
              AND CASE WHEN (q.turn_id IS NULL OR q.user_id = :user_id) AND (:priority::priority IS NULL OR q.priority = :priority)
                        AND (:assignee::uuid IS NULL OR q.assignee_id = :assignee)
                        AND NOT (:unseen AND EXISTS (SELECT FROM question_marks_now k
                                                      WHERE k.question_id = q.id AND k.user_id = :user_id AND k.seen))
                       THEN true ELSE false END
            ORDER BY q.priority DESC, q.asked_at DESC, q.id DESC LIMIT :limit) q
     WHERE :asker::uuid IS NOT NULL),
page AS MATERIALIZED (
    SELECT f.id
      FROM (SELECT * FROM in_projects UNION ALL SELECT * FROM assigned UNION ALL SELECT * FROM asked) f
     ORDER BY f.priority DESC, f.asked_at DESC, f.id DESC LIMIT :limit)
SELECT q.*, asker.name AS asked_by, token.name AS asked_with, settler.name AS settled_by_name,
       v.may_answer AND NOT (:token_id::uuid IS NOT NULL AND q.token_id IS NOT NULL AND q.user_id = :user_id) AS may_answer,
       coalesce(k.seen, false) AS seen, k.snoozed_until
  FROM page
  JOIN questions_now q ON q.id = page.id
  JOIN question_viewers v ON v.question_id = q.id AND v.user_id = :user_id
  JOIN users asker ON asker.id = q.user_id
  LEFT JOIN tokens token ON token.id = q.token_id
  LEFT JOIN users settler ON settler.id = q.settled_by
  LEFT JOIN question_marks_now k ON k.question_id = q.id AND k.user_id = :user_id
 ORDER BY q.priority DESC, q.asked_at DESC, q.id DESC
