-- Takes a grant back: one's own, or as an admin anybody's in the workspace. No row: there is none such, or none that is yours.
WITH current AS (
    SELECT id, state FROM tokens
     WHERE id = :id AND workspace_id = :workspace_id AND kind = 'oauth' AND (user_id = :user_id OR :admin) FOR UPDATE),
revoked AS (
    UPDATE tokens t SET state = 'revoked', trace = :trace FROM current WHERE t.id = current.id AND current.state = 'active'
    RETURNING t.id, t.workspace_id),
audited AS (
    INSERT INTO audit_log (workspace_id, user_id, via, via_id, event, entity, entity_id)
    SELECT workspace_id, :user_id, :via, :via_id, 'app.removed', 'token', id FROM revoked)
SELECT id FROM current
