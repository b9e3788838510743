-- Opens a session for a member.
WITH opened AS (
    INSERT INTO sessions (id, workspace_id, user_id, hash, expires_at, trace)
    VALUES (:id, :workspace_id, :user_id, :hash, now() + make_interval(secs => :life), :trace)
    RETURNING id, workspace_id, user_id, expires_at),
audited AS (
    INSERT INTO audit_log (workspace_id, user_id, via, via_id, event, entity, entity_id)
    SELECT workspace_id, user_id, 'session', id, 'session.opened', 'session', id FROM opened)
SELECT * FROM opened
