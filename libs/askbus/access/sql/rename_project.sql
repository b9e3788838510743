-- Gives a project another name. No row: who asks may not, or there is none.
WITH acting AS MATERIALIZED (
    SELECT workspace_id FROM memberships
     WHERE workspace_id = :workspace_id AND user_id = :by_user_id AND role IN ('owner', 'admin') FOR SHARE),
renamed AS (
    UPDATE projects p SET name = :name FROM acting a WHERE p.id = :project_id AND p.workspace_id = a.workspace_id
    RETURNING p.id, p.workspace_id, p.name),
audited AS (
    INSERT INTO audit_log (workspace_id, project_id, user_id, via, via_id, event, entity, entity_id)
    SELECT workspace_id, id, :by_user_id, 'session', :via_id, 'project.renamed', 'project', id FROM renamed)
SELECT id, name, true AS may_write FROM renamed
