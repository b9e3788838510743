-- Opens a browser's session for somebody who has just proved who they are, where they were last. By a password only while it is
-- still theirs: they are held, so that who changes it meanwhile ends this session too. No row: they are a member nowhere.
WITH held AS MATERIALIZED (
    SELECT p.user_id FROM users u JOIN passwords p ON p.user_id = u.id
     WHERE u.id = :user_id AND p.hash = :password_hash FOR SHARE OF u, p),
chosen AS (
    SELECT m.workspace_id, m.user_id
      FROM memberships m JOIN workspaces w ON w.id = m.workspace_id
     WHERE m.user_id = :user_id AND (:password_hash::text IS NULL OR EXISTS (SELECT FROM held))
     ORDER BY (SELECT s.id FROM sessions s
                WHERE s.user_id = m.user_id AND s.workspace_id = m.workspace_id AND s.bearer IS NULL
                ORDER BY s.id DESC LIMIT 1) DESC NULLS LAST, w.name
     LIMIT 1),
opened AS (
    INSERT INTO sessions (id, workspace_id, user_id, hash, method, expires_at, trace)
    SELECT :session_id, workspace_id, user_id, :session_hash, :method, now() + make_interval(secs => :life), :trace FROM chosen
    RETURNING id, workspace_id, user_id, expires_at),
audited AS (
    INSERT INTO audit_log (workspace_id, user_id, via, via_id, event, entity, entity_id)
    SELECT workspace_id, user_id, 'session', id, 'session.opened', 'session', id FROM opened)
SELECT * FROM opened
