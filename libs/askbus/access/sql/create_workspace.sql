INSERT INTO workspaces (id, name) VALUES (:id, :name)
