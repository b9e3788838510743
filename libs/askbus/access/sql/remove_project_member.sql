-- Takes a project away from a member or viewer. One row says whether the one who asks may, and whether there is such a project.
WITH acting AS MATERIALIZED (
    SELECT workspace_id FROM memberships
     WHERE workspace_id = :workspace_id AND user_id = :by_user_id AND role IN ('owner', 'admin') FOR SHARE),
removed AS (
    DELETE FROM project_members m USING acting a
     WHERE m.workspace_id = a.workspace_id AND m.project_id = :project_id AND m.user_id = :user_id
    RETURNING m.workspace_id, m.project_id, m.user_id),
audited AS (
    INSERT INTO audit_log (workspace_id, project_id, user_id, via, via_id, event, entity, entity_id)
    SELECT workspace_id, project_id, :by_user_id, 'session', :via_id, 'member.removed_from_project', 'user', user_id FROM removed)
SELECT EXISTS (SELECT FROM acting) AS allowed,
       EXISTS (SELECT FROM projects p WHERE p.id = :project_id AND p.workspace_id = :workspace_id) AS found
