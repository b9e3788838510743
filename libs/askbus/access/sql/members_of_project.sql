-- The people who see a project: whom a question may be assigned to.
SELECT u.id, u.name, a.role, a.may_write FROM project_access a JOIN users u ON u.id = a.user_id
 WHERE a.project_id = :project_id AND a.workspace_id = :workspace_id
 ORDER BY u.name, u.id
