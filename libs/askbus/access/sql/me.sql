-- A user and the workspace they act in, by name, and what they said of themselves.
SELECT u.email, u.name, u.locale, u.time_zone, w.name AS workspace
  FROM users u, workspaces w
 WHERE u.id = :user_id AND w.id = :workspace_id
