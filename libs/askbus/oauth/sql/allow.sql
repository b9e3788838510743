-- A person allows an app some of what it asked for: the page's ticket is used up, and a code made. The whole workspace (no projects) is for
-- owners and admins; others name projects that they see. Session and membership are held, so that neither ends in between. No row: not this
-- session's page, decided already, over, or nothing that fits.
WITH held AS MATERIALIZED (
    SELECT s.id, m.workspace_id, m.user_id, m.role, m.demo
      FROM sessions s JOIN memberships m ON m.workspace_id = s.workspace_id AND m.user_id = s.user_id
     WHERE s.id = :session_id AND s.state = 'active' AND s.expires_at > now()
       FOR SHARE OF m FOR SHARE OF s),
decided AS (
    UPDATE oauth_requests r SET decided_at = coalesce(:now, now())
     WHERE r.hash = :hash AND r.session_id = :session_id AND r.decided_at IS NULL AND r.expires_at > coalesce(:now, now())
       AND :scopes::text[] <@ r.scopes
       AND EXISTS (
           SELECT FROM held m JOIN workspaces w ON w.id = m.workspace_id
            WHERE m.workspace_id = r.workspace_id AND m.user_id = r.user_id AND NOT m.demo AND w.mcp
              AND CASE WHEN :projects::uuid[] IS NULL THEN m.role IN ('owner', 'admin')
                       ELSE :projects::uuid[] <@ ARRAY(
                            SELECT a.project_id FROM project_access a
                             WHERE a.user_id = r.user_id AND a.workspace_id = r.workspace_id) END)
    RETURNING r.*),
coded AS (
    INSERT INTO oauth_codes (id, grant_id, hash, scopes, projects, expires_at)
    SELECT id, :grant_id, :code_hash, :scopes, :projects, coalesce(:now, now()) + make_interval(secs => :life) FROM decided),
used AS (
    UPDATE oauth_clients c SET used_at = coalesce(c.used_at, now()) FROM decided WHERE c.id = decided.client_id),
audited AS (
    INSERT INTO audit_log (workspace_id, user_id, via, via_id, event, entity, entity_id)
    SELECT workspace_id, user_id, 'session', session_id, 'app.allowed', 'token', :grant_id FROM decided)
SELECT redirect_uri, state FROM decided
