-- Uses up a code, whatever is wrong with the request, and where nothing is, makes the grant with its first tokens. Of two uses one wins.
-- No row: there is no such code. `verdict` says what came of it; where the membership ends meanwhile, its trigger lets no grant be made.
WITH current AS (
    SELECT c.id, c.grant_id, c.scopes, c.projects, c.used_at, c.expires_at,
           r.client_id, r.redirect_uri, r.code_challenge, r.resource, r.workspace_id, r.user_id
      FROM oauth_codes c JOIN oauth_requests r ON r.id = c.id
     WHERE c.hash = :hash
       FOR UPDATE OF c),
burnt AS (
    UPDATE oauth_codes c SET used_at = coalesce(:now, now()) FROM current WHERE c.id = current.id AND current.used_at IS NULL
    RETURNING c.id),
weighed AS (
    SELECT current.*,
           CASE WHEN burnt.id IS NULL THEN 'replayed'
                WHEN current.expires_at <= coalesce(:now, now()) THEN 'expired'
                WHEN current.client_id <> :client_id THEN 'foreign'
                WHEN current.redirect_uri <> :redirect_uri THEN 'other_redirect'
                WHEN current.code_challenge <> :code_challenge THEN 'wrong_verifier'
                WHEN current.resource <> :resource THEN 'other_resource'
                WHEN w.mcp IS NULL THEN 'ended'
                WHEN NOT w.mcp THEN 'off'
                ELSE 'granted' END AS verdict
      FROM current
      LEFT JOIN burnt ON burnt.id = current.id
      LEFT JOIN memberships m ON m.workspace_id = current.workspace_id AND m.user_id = current.user_id
      LEFT JOIN workspaces w ON w.id = m.workspace_id),
allowed AS (
    INSERT INTO tokens (id, workspace_id, user_id, name, prefix, hash, scopes, projects, expires_at, kind, client_id, trace)
    SELECT v.grant_id, v.workspace_id, v.user_id, c.name, 'oauth', :grant_hash, v.scopes, v.projects,
           coalesce(:now, now()) + make_interval(secs => CASE WHEN c.refreshes THEN :refresh_life::float8 ELSE :access_life::float8 END),
           'oauth', c.id, :trace
      FROM weighed v JOIN oauth_clients c ON c.id = v.client_id
     WHERE v.verdict = 'granted'
    RETURNING id, workspace_id, user_id, scopes, expires_at),
accessed AS (
    INSERT INTO oauth_access_tokens (id, grant_id, hash, resource, scopes, expires_at)
    SELECT :access_id, a.id, :access_hash, v.resource, a.scopes, coalesce(:now, now()) + make_interval(secs => :access_life)
      FROM allowed a JOIN weighed v ON v.grant_id = a.id),
refreshed AS (
    INSERT INTO oauth_refresh_tokens (id, grant_id, hash, resource, expires_at)
    SELECT :refresh_id, a.id, :refresh_hash, v.resource, a.expires_at
      FROM allowed a JOIN weighed v ON v.grant_id = a.id JOIN oauth_clients c ON c.id = v.client_id
     WHERE c.refreshes
    RETURNING id),
audited AS (
    INSERT INTO audit_log (workspace_id, user_id, via, via_id, event, entity, entity_id)
    SELECT workspace_id, user_id, 'token', id, 'app.connected', 'token', id FROM allowed)
SELECT CASE WHEN v.verdict = 'granted' AND NOT EXISTS (SELECT FROM allowed) THEN 'ended' ELSE v.verdict END AS verdict,
       v.grant_id, v.scopes, EXISTS (SELECT FROM refreshed) AS refreshes
  FROM weighed v
