UPDATE workspaces SET model = :model WHERE id = :id
