-- A workspace by its name or id.
SELECT id, name FROM workspaces WHERE name = :named OR id::text = lower(:named) ORDER BY name = :named DESC LIMIT 1
