-- Exchanges a refresh token for its successor and an access token. Who repeats an exchange within the grace, while the successor is unused,
-- is told the salt that gives the same successor. No row: there is no such token. `verdict` says what came of it.
WITH current AS (
    SELECT * FROM oauth_refresh_tokens WHERE hash = :hash FOR UPDATE),
weighed AS (
    SELECT current.id, current.grant_id, current.resource, current.salt, coalesce(:scopes, t.scopes) AS scopes,
           CASE WHEN t.client_id <> :client_id THEN 'foreign'
                WHEN t.state <> 'active' OR t.expires_at <= coalesce(:now, now()) OR w.mcp IS NULL THEN 'ended'
                WHEN current.used_at IS NOT NULL AND (
                     current.used_at <= coalesce(:now, now()) - make_interval(secs => :grace)
                     OR EXISTS (SELECT FROM oauth_refresh_tokens n WHERE n.id = current.successor_id AND n.used_at IS NOT NULL))
                     THEN 'replayed'
                WHEN current.expires_at <= coalesce(:now, now()) THEN 'expired'
                WHEN current.resource <> :resource THEN 'other_resource'
                WHEN NOT :scopes::text[] <@ t.scopes THEN 'wider'
                WHEN NOT w.mcp THEN 'off'
                WHEN current.used_at IS NOT NULL THEN 'repeated'
                ELSE 'granted' END AS verdict
      FROM current
      JOIN tokens t ON t.id = current.grant_id
      LEFT JOIN memberships m ON m.workspace_id = t.workspace_id AND m.user_id = t.user_id
      LEFT JOIN workspaces w ON w.id = m.workspace_id),
used AS (
    UPDATE oauth_refresh_tokens r SET used_at = coalesce(:now, now()), salt = :salt, successor_id = :successor_id
      FROM weighed v WHERE r.id = v.id AND v.verdict = 'granted'),
followed AS (
    INSERT INTO oauth_refresh_tokens (id, grant_id, hash, resource, expires_at)
    SELECT :successor_id, v.grant_id, :successor_hash, v.resource, coalesce(:now, now()) + make_interval(secs => :refresh_life)
      FROM weighed v WHERE v.verdict = 'granted'),
kept AS (
    UPDATE tokens t SET expires_at = coalesce(:now, now()) + make_interval(secs => :refresh_life)
      FROM weighed v WHERE t.id = v.grant_id AND v.verdict = 'granted'),
accessed AS (
    INSERT INTO oauth_access_tokens (id, grant_id, hash, resource, scopes, expires_at)
    SELECT :access_id, v.grant_id, :access_hash, v.resource, v.scopes, coalesce(:now, now()) + make_interval(secs => :access_life)
      FROM weighed v WHERE v.verdict IN ('granted', 'repeated'))
SELECT verdict, grant_id, scopes, salt FROM weighed
