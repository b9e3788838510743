-- Revokes a grant whose code or refresh token was shown twice: one of the two who showed it is a thief, and nobody knows which.
WITH revoked AS (
    UPDATE tokens SET state = 'revoked', trace = :trace WHERE id = :grant_id AND kind = 'oauth' AND state = 'active'
    RETURNING id, workspace_id, user_id)
INSERT INTO audit_log (workspace_id, user_id, via, via_id, event, entity, entity_id)
SELECT workspace_id, user_id, 'token', id, 'app.replayed', 'token', id FROM revoked
