-- Invites an address. One that was invited before and did not come in time is invited anew, under the id that it had; so is the same
-- command sent again by the same person. `refusal` says why not; no row: who asks may not.
WITH acting AS MATERIALIZED (
    SELECT workspace_id, user_id, role FROM memberships
     WHERE workspace_id = :workspace_id AND user_id = :by_user_id AND role IN ('owner', 'admin') FOR SHARE),
weighed AS (
    SELECT a.*,
           CASE WHEN a.role <> 'owner' AND :role::role = 'owner' THEN 'owners_only'
                WHEN :demo AND :role::role IN ('owner', 'admin') THEN 'demo'
                WHEN EXISTS (SELECT FROM memberships m JOIN users u ON u.id = m.user_id
                              WHERE m.workspace_id = a.workspace_id AND lower(u.email) = lower(:email)) THEN 'member'
                WHEN EXISTS (SELECT FROM unnest(:projects::uuid[]) AS wanted (id)
                              WHERE NOT EXISTS (SELECT FROM projects p WHERE p.id = wanted.id AND p.workspace_id = a.workspace_id))
                THEN 'project' END AS refusal
      FROM acting a),
made AS (
    INSERT INTO invitations (id, workspace_id, email, role, demo, projects, hash, invited_by, expires_at, trace)
    SELECT :id, workspace_id, :email, :role::role, :demo, :projects, :hash, user_id, now() + make_interval(secs => :expires_in), :trace
      FROM weighed WHERE refusal IS NULL
        ON CONFLICT (workspace_id, lower(email)) WHERE state = 'pending'
        DO UPDATE SET email = EXCLUDED.email, role = EXCLUDED.role, demo = EXCLUDED.demo, projects = EXCLUDED.projects,
                      hash = EXCLUDED.hash, invited_by = EXCLUDED.invited_by, invited_at = now(), expires_at = EXCLUDED.expires_at,
                      trace = EXCLUDED.trace
        WHERE invitations.expires_at <= now()
           OR (invitations.id = EXCLUDED.id AND invitations.invited_by = EXCLUDED.invited_by)
    RETURNING id, workspace_id),
audited AS (
    INSERT INTO audit_log (workspace_id, user_id, via, via_id, event, entity, entity_id)
    SELECT workspace_id, :by_user_id, 'session', :via_id, 'invitation.sent', 'invitation', id FROM made)
SELECT m.id, coalesce(w.refusal, CASE WHEN m.id IS NULL THEN 'pending' END) AS refusal
  FROM weighed w LEFT JOIN made m ON true
