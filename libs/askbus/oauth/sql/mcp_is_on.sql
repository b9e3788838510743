SELECT mcp FROM workspaces WHERE id = :workspace_id
