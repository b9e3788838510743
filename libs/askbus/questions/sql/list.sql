-- A page of questions that this principal may see, newest first, with the names of who asks and who settled.
-- `:asker` keeps those that it asked itself, `:for_me` those that it may answer, `:before` what comes after that question.
SELECT q.*, asker.name AS asked_by, token.name AS asked_with, settler.name AS settled_by_name
  FROM questions_now q
  JOIN question_viewers v ON v.question_id = q.id AND v.user_id = :user_id
  JOIN users asker ON asker.id = q.user_id
  LEFT JOIN tokens token ON token.id = q.token_id
  LEFT JOIN users settler ON settler.id = q.settled_by
 WHERE q.workspace_id = :workspace_id
   AND (:projects::uuid[] IS NULL OR q.project_id = ANY (:projects::uuid[]))
   AND (:project_id::uuid IS NULL OR q.project_id = :project_id)
   AND (:state::question_state IS NULL OR q.state = :state)
   AND (:asker::uuid IS NULL OR q.asker_id = :asker)
   AND (NOT :for_me OR (v.may_answer AND NOT (:token_id::uuid IS NOT NULL AND q.token_id IS NOT NULL AND q.user_id = :user_id)))
   AND (:before::uuid IS NULL
        OR (q.asked_at, q.id) < (SELECT b.asked_at, b.id FROM questions b WHERE b.id = :before AND b.workspace_id = :workspace_id))
 ORDER BY q.asked_at DESC, q.id DESC
 LIMIT :limit
