INSERT INTO project_members (workspace_id, project_id, user_id, trace) VALUES (:workspace_id, :project_id, :user_id, :trace)
    ON CONFLICT DO NOTHING
