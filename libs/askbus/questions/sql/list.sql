-- A page of questions that this principal may see, newest first. `:asker` keeps those that it asked itself.
SELECT q.*
  FROM questions_now q
  JOIN question_viewers v ON v.question_id = q.id AND v.user_id = :user_id
 WHERE q.workspace_id = :workspace_id
   AND (:projects::uuid[] IS NULL OR q.project_id = ANY (:projects::uuid[]))
   AND (:project_id::uuid IS NULL OR q.project_id = :project_id)
   AND (:state::question_state IS NULL OR q.state = :state)
   AND (:asker::uuid IS NULL OR q.asker_id = :asker)
   AND (NOT :for_me OR v.may_answer)
   AND (:before::uuid IS NULL OR q.id < :before)
 ORDER BY q.id DESC
 LIMIT :limit
