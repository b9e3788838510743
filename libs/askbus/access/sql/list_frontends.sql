-- The front ends that a workspace registered, by name.
SELECT id, name, created_at FROM frontends WHERE workspace_id = :workspace_id ORDER BY name
