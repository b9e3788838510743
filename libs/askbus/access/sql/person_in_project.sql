-- A user's role as it is now, and whether they may write in the project. No row: they do not see the project any more.
SELECT a.role, a.may_write
  FROM project_access a
 WHERE a.user_id = :user_id AND a.workspace_id = :workspace_id AND a.project_id = :project_id
