WITH added AS (
    INSERT INTO project_members (workspace_id, project_id, user_id, trace) VALUES (:workspace_id, :project_id, :user_id, :trace)
        ON CONFLICT DO NOTHING
    RETURNING workspace_id, project_id, user_id)
INSERT INTO audit_log (workspace_id, project_id, via, event, entity, entity_id)
SELECT workspace_id, project_id, 'command-line', 'member.added_to_project', 'user', user_id FROM added
