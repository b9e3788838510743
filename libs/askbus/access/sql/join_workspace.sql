-- Makes a user what a locked invitation says. Who is a member already stays what they are; who is one elsewhere must have proved to be
-- that user. One row says whether they joined, and whether they were a member here.
WITH joined AS (
    INSERT INTO memberships (workspace_id, user_id, role, demo, trace)
    SELECT :workspace_id, :user_id, :role, :demo, :trace
     WHERE :proven OR NOT EXISTS (SELECT FROM memberships o WHERE o.user_id = :user_id)
        ON CONFLICT (workspace_id, user_id) DO NOTHING
    RETURNING workspace_id, user_id),
seen AS (
    INSERT INTO project_members (workspace_id, project_id, user_id, trace)
    SELECT j.workspace_id, p.id, j.user_id, :trace
      FROM joined j JOIN projects p ON p.workspace_id = j.workspace_id AND p.id = ANY (:projects::uuid[])),
accepted AS (
    UPDATE invitations i SET state = 'accepted', settled_at = now(), user_id = j.user_id, trace = :trace
      FROM joined j WHERE i.id = :id
    RETURNING i.id, i.workspace_id, i.user_id),
opened AS (
    INSERT INTO audit_log (workspace_id, user_id, via, via_id, event, entity, entity_id)
    SELECT workspace_id, user_id, 'session', :session_id, 'invitation.accepted', 'invitation', id FROM accepted)
SELECT EXISTS (SELECT FROM joined) AS joined,
       EXISTS (SELECT FROM memberships m WHERE m.workspace_id = :workspace_id AND m.user_id = :user_id) AS member
