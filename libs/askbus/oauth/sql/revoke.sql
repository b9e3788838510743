-- An app gives a token back. With a refresh token its grant ends; an access token ends alone. Nothing happens to those of other apps.
WITH given AS (
    SELECT r.grant_id FROM oauth_refresh_tokens r JOIN tokens t ON t.id = r.grant_id WHERE r.hash = :hash AND t.client_id = :client_id),
dropped AS (
    DELETE FROM oauth_access_tokens a USING tokens t WHERE a.hash = :hash AND t.id = a.grant_id AND t.client_id = :client_id),
revoked AS (
    UPDATE tokens t SET state = 'revoked', trace = :trace FROM given WHERE t.id = given.grant_id AND t.state = 'active'
    RETURNING t.id, t.workspace_id, t.user_id)
INSERT INTO audit_log (workspace_id, user_id, via, via_id, event, entity, entity_id)
SELECT workspace_id, user_id, 'token', id, 'app.gave_back', 'token', id FROM revoked
