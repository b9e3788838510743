-- Ends a browser's session and opens one in another workspace of the same person's, until the same time. The person is held, so that who
-- ends their sessions meanwhile ends the new one too; and their membership there, so that it does not go in between. No row: the session
-- ended, or they are no member there.
WITH held AS MATERIALIZED (
    SELECT s.id, m.workspace_id
      FROM sessions s
      JOIN users u ON u.id = s.user_id
      JOIN memberships m ON m.user_id = u.id AND m.workspace_id = :workspace_id
     WHERE s.id = :id AND s.state = 'active'
       FOR SHARE OF u FOR KEY SHARE OF m),
ended AS (
    UPDATE sessions s SET state = 'revoked', trace = :trace
      FROM held
     WHERE s.id = held.id AND s.state = 'active' AND s.expires_at > now() AND s.bearer IS NULL
    RETURNING s.user_id, s.method, s.expires_at, s.created_at),
opened AS (
    INSERT INTO sessions (id, workspace_id, user_id, hash, method, created_at, expires_at, trace)
    SELECT :session_id, :workspace_id, user_id, :session_hash, method, created_at, expires_at, :trace FROM ended
    RETURNING id, workspace_id, user_id, expires_at),
audited AS (
    INSERT INTO audit_log (workspace_id, user_id, via, via_id, event, entity, entity_id)
    SELECT workspace_id, user_id, 'session', id, 'session.opened', 'session', id FROM opened)
SELECT * FROM opened
