INSERT INTO projects (id, workspace_id, name) VALUES (:id, :workspace_id, :name)
