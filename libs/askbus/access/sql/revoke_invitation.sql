-- Takes an invitation back. `refusal` says why not; no row: there is no such invitation.
WITH acting AS MATERIALIZED (
    SELECT workspace_id, user_id, role FROM memberships
     WHERE workspace_id = :workspace_id AND user_id = :by_user_id AND role IN ('owner', 'admin') FOR SHARE),
current AS MATERIALIZED (SELECT * FROM invitations WHERE id = :id AND workspace_id = :workspace_id FOR UPDATE),
weighed AS (
    SELECT c.id, c.state,
           CASE WHEN a.role IS NULL THEN 'not_admin'
                WHEN a.role <> 'owner' AND c.role = 'owner' THEN 'owners_only'
                WHEN c.state IN ('accepted', 'expired') THEN c.state::text END AS refusal
      FROM current c LEFT JOIN acting a ON true),
revoked AS (
    UPDATE invitations i SET state = 'revoked', settled_at = now(), trace = :trace
      FROM weighed w
     WHERE i.id = w.id AND w.refusal IS NULL AND w.state = 'pending'
    RETURNING i.id, i.workspace_id),
audited AS (
    INSERT INTO audit_log (workspace_id, user_id, via, via_id, event, entity, entity_id)
    SELECT workspace_id, :by_user_id, 'session', :via_id, 'invitation.revoked', 'invitation', id FROM revoked)
SELECT refusal FROM weighed
