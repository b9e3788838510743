-- The projects that a user sees now, and which of them they may write in.
SELECT p.id, p.name, a.may_write
  FROM project_access a JOIN projects p ON p.id = a.project_id
 WHERE a.user_id = :user_id AND a.workspace_id = :workspace_id
   AND (:projects::uuid[] IS NULL OR p.id = ANY (:projects::uuid[]))
 ORDER BY p.name, p.id
