UPDATE workspaces SET instructions = :instructions WHERE id = :id
