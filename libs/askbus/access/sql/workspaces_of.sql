-- The workspaces that somebody is a member of.
SELECT w.id, w.name, m.role, m.demo
  FROM memberships m JOIN workspaces w ON w.id = m.workspace_id
 WHERE m.user_id = :user_id
 ORDER BY w.name, w.id
