-- What an app asks for, on the page of one session. Of one session's pages the latest ones count. No row: the session is over.
WITH dropped AS (
    DELETE FROM oauth_requests WHERE id IN (
        SELECT r.id FROM oauth_requests r
         WHERE r.session_id = :session_id AND r.decided_at IS NULL ORDER BY r.id DESC OFFSET :most))
INSERT INTO oauth_requests (id, client_id, session_id, workspace_id, user_id, hash, redirect_uri, code_challenge, resource, state, scopes,
                            expires_at)
SELECT :id, :client_id, s.id, s.workspace_id, s.user_id, :hash, :redirect_uri, :code_challenge, :resource, :state, :scopes,
       coalesce(:now, now()) + make_interval(secs => :life)
  FROM sessions s
 WHERE s.id = :session_id AND s.state = 'active'
RETURNING id
