-- Changes a password that is still the one that was given, and ends the person's other sessions. No row: it was changed meanwhile.
WITH kept AS (
    UPDATE passwords SET hash = :hash, set_at = now() WHERE user_id = :user_id AND hash = :old_hash RETURNING user_id),
ended AS (
    UPDATE sessions s SET state = 'revoked', trace = :trace
      FROM kept WHERE s.user_id = kept.user_id AND s.id <> :session_id AND s.state = 'active' AND s.bearer IS NULL),
audited AS (
    INSERT INTO audit_log (workspace_id, user_id, via, via_id, event, entity, entity_id)
    SELECT :workspace_id, user_id, 'session', :session_id, 'password.changed', 'user', user_id FROM kept)
SELECT user_id FROM kept
