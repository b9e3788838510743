-- A user and the workspace they act in, by name.
SELECT u.email, u.name, w.name AS workspace FROM users u, workspaces w WHERE u.id = :user_id AND w.id = :workspace_id
