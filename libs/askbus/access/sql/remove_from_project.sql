WITH removed AS (
    DELETE FROM project_members WHERE project_id = :project_id AND user_id = :user_id AND workspace_id = :workspace_id
    RETURNING workspace_id, project_id, user_id)
INSERT INTO audit_log (workspace_id, project_id, via, event, entity, entity_id)
SELECT workspace_id, project_id, 'command-line', 'member.removed_from_project', 'user', user_id FROM removed
