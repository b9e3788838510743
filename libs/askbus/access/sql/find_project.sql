-- A workspace's project by its name or id.
SELECT id, name FROM projects
 WHERE workspace_id = :workspace_id AND (name = :named OR id::text = lower(:named))
 ORDER BY name = :named DESC
 LIMIT 1
