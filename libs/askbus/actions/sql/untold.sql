-- What a token proposed, still may see, and has not acknowledged hearing about, oldest first.
SELECT n.*
  FROM actions_now n
  JOIN project_access p ON p.workspace_id = n.workspace_id AND p.project_id = n.project_id AND p.user_id = :user_id
 WHERE n.token_id = :token_id AND n.untold > 0 AND n.workspace_id = :workspace_id
   AND (:projects::uuid[] IS NULL OR n.project_id = ANY (:projects::uuid[]))
 ORDER BY n.proposed_at, n.id
 LIMIT :limit
