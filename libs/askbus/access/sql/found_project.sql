-- Makes a project, or finds the one that the same command made. No row: who asks may not, or the id is taken elsewhere.
WITH acting AS MATERIALIZED (
    SELECT workspace_id FROM memberships
     WHERE workspace_id = :workspace_id AND user_id = :by_user_id AND role IN ('owner', 'admin') FOR SHARE),
made AS (
    INSERT INTO projects (id, workspace_id, name) SELECT :id, workspace_id, :name FROM acting
        ON CONFLICT (id) DO UPDATE SET name = projects.name WHERE projects.workspace_id = EXCLUDED.workspace_id
    RETURNING id, workspace_id, name, xmax = 0 AS fresh),
audited AS (
    INSERT INTO audit_log (workspace_id, project_id, user_id, via, via_id, event, entity, entity_id)
    SELECT workspace_id, id, :by_user_id, 'session', :via_id, 'project.created', 'project', id FROM made WHERE fresh)
SELECT id, name, true AS may_write FROM made
