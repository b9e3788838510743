-- The operator revokes an API token, whosever it is. No row: the workspace has none such.
WITH current AS (
    SELECT id, state FROM tokens WHERE id = :id AND workspace_id = :workspace_id AND kind = 'api' FOR UPDATE),
revoked AS (
    UPDATE tokens t SET state = 'revoked' FROM current WHERE t.id = current.id AND current.state = 'active'
    RETURNING t.id, t.workspace_id),
audited AS (
    INSERT INTO audit_log (workspace_id, via, event, entity, entity_id)
    SELECT workspace_id, 'command-line', 'token.revoked', 'token', id FROM revoked)
SELECT id FROM current
