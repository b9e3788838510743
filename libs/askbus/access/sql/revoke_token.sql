-- Revokes a token of the user's own. Streams and bus doors that use it close by the change that this makes.
WITH current AS (SELECT * FROM tokens WHERE id = :id AND workspace_id = :workspace_id AND user_id = :user_id AND kind = 'api' FOR UPDATE),
revoked AS (
    UPDATE tokens t SET state = 'revoked', trace = :trace FROM current WHERE t.id = current.id AND current.state = 'active'
    RETURNING t.id, t.workspace_id, t.user_id),
audited AS (
    INSERT INTO audit_log (workspace_id, user_id, via, via_id, event, entity, entity_id)
    SELECT workspace_id, user_id, :via, :via_id, 'token.revoked', 'token', id FROM revoked)
SELECT id FROM current
