SELECT id, name FROM workspaces WHERE name = :name
