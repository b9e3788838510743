SELECT id, name FROM projects WHERE workspace_id = :workspace_id AND name = :name
