-- Takes a grant back: one's own, or anybody's in the workspace for who runs it at this moment. No row: there is none such, or none that is
-- yours to take.
WITH acting AS MATERIALIZED (
    SELECT workspace_id, user_id, role FROM memberships WHERE workspace_id = :workspace_id AND user_id = :user_id FOR SHARE),
current AS (
    SELECT t.id, t.state
      FROM tokens t JOIN acting a ON a.workspace_id = t.workspace_id AND (t.user_id = a.user_id OR a.role IN ('owner', 'admin'))
     WHERE t.id = :id AND t.kind = 'oauth' FOR UPDATE OF t),
revoked AS (
    UPDATE tokens t SET state = 'revoked', trace = :trace FROM current WHERE t.id = current.id AND current.state = 'active'
    RETURNING t.id, t.workspace_id),
audited AS (
    INSERT INTO audit_log (workspace_id, user_id, via, via_id, event, entity, entity_id)
    SELECT workspace_id, :user_id, :via, :via_id, 'app.removed', 'token', id FROM revoked)
SELECT id FROM current
