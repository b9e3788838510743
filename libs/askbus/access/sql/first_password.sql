-- Somebody's first password, set by who has just come by a link. No row: they have one, or did not.
WITH kept AS (
    INSERT INTO passwords (user_id, hash)
    SELECT s.user_id, :hash FROM sessions s
     WHERE s.id = :session_id AND s.method = 'link' AND s.state = 'active' AND s.created_at > now() - interval '15 minutes'
        ON CONFLICT (user_id) DO NOTHING
    RETURNING user_id),
audited AS (
    INSERT INTO audit_log (workspace_id, user_id, via, via_id, event, entity, entity_id)
    SELECT :workspace_id, user_id, 'session', :session_id, 'password.set', 'user', user_id FROM kept)
SELECT user_id FROM kept
