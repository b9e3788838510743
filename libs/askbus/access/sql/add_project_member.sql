-- Lets a member or viewer see a project. One row says what was there: whether the one who asks may, the member, the project.
WITH acting AS MATERIALIZED (
    SELECT workspace_id FROM memberships
     WHERE workspace_id = :workspace_id AND user_id = :by_user_id AND role IN ('owner', 'admin') FOR SHARE),
place AS (
    SELECT p.workspace_id, p.id AS project_id, m.user_id
      FROM acting a
      JOIN projects p ON p.workspace_id = a.workspace_id AND p.id = :project_id
      JOIN memberships m ON m.workspace_id = a.workspace_id AND m.user_id = :user_id),
added AS (
    INSERT INTO project_members (workspace_id, project_id, user_id, trace)
    SELECT workspace_id, project_id, user_id, :trace FROM place
        ON CONFLICT (project_id, user_id) DO NOTHING
    RETURNING workspace_id, project_id, user_id),
audited AS (
    INSERT INTO audit_log (workspace_id, project_id, user_id, via, via_id, event, entity, entity_id)
    SELECT workspace_id, project_id, :by_user_id, 'session', :via_id, 'member.added_to_project', 'user', user_id FROM added)
SELECT EXISTS (SELECT FROM acting) AS allowed, EXISTS (SELECT FROM place) AS found
