-- A question as it reads now, if this principal may see it.
SELECT q.*
  FROM questions_now q
  JOIN question_viewers v ON v.question_id = q.id AND v.user_id = :user_id
 WHERE q.id = :id AND q.workspace_id = :workspace_id AND (:projects::uuid[] IS NULL OR q.project_id = ANY (:projects::uuid[]))
