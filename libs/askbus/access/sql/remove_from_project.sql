DELETE FROM project_members WHERE project_id = :project_id AND user_id = :user_id AND workspace_id = :workspace_id
