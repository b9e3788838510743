-- Sends an invitation again, in the name of whoever does so: another code, and its time begins anew. The old code ends. One that expired
-- may be sent again too. `refusal` says why not; no row: there is no such invitation.
WITH acting AS MATERIALIZED (
    SELECT workspace_id, user_id, role FROM memberships
     WHERE workspace_id = :workspace_id AND user_id = :by_user_id AND role IN ('owner', 'admin') FOR SHARE),
current AS MATERIALIZED (SELECT * FROM invitations WHERE id = :id AND workspace_id = :workspace_id FOR UPDATE),
weighed AS (
    SELECT c.id,
           CASE WHEN a.role IS NULL THEN 'not_admin'
                WHEN a.role <> 'owner' AND c.role = 'owner' THEN 'owners_only'
                WHEN c.state NOT IN ('pending', 'expired') THEN c.state::text
                WHEN EXISTS (SELECT FROM memberships m JOIN users u ON u.id = m.user_id
                              WHERE m.workspace_id = c.workspace_id AND lower(u.email) = lower(c.email)) THEN 'member' END AS refusal
      FROM current c LEFT JOIN acting a ON true),
renewed AS (
    UPDATE invitations i
       SET hash = :hash, state = 'pending', settled_at = NULL, invited_by = :by_user_id, invited_at = now(),
           expires_at = now() + make_interval(secs => :expires_in), trace = :trace
      FROM weighed w
     WHERE i.id = w.id AND w.refusal IS NULL
    RETURNING i.id, i.workspace_id),
audited AS (
    INSERT INTO audit_log (workspace_id, user_id, via, via_id, event, entity, entity_id)
    SELECT workspace_id, :by_user_id, 'session', :via_id, 'invitation.sent', 'invitation', id FROM renewed)
SELECT refusal FROM weighed
