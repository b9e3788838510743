-- Revokes an API token: one's own, an owner anybody's in the workspace, an admin anybody's but owners'. Streams and bus doors that use it close
-- by the change that this makes. No row: there is none such, or not for this person.
WITH current AS (
    SELECT t.id, t.state FROM tokens t
     WHERE t.id = :id AND t.workspace_id = :workspace_id AND t.kind = 'api'
       AND (t.user_id = :user_id
            OR EXISTS (SELECT FROM memberships b JOIN memberships o USING (workspace_id)
                        WHERE b.workspace_id = t.workspace_id AND b.user_id = :user_id AND o.user_id = t.user_id
                          AND (b.role = 'owner' OR b.role = 'admin' AND o.role <> 'owner')))
       FOR UPDATE OF t),
revoked AS (
    UPDATE tokens t SET state = 'revoked', trace = :trace FROM current WHERE t.id = current.id AND current.state = 'active'
    RETURNING t.id, t.workspace_id),
audited AS (
    INSERT INTO audit_log (workspace_id, user_id, via, via_id, event, entity, entity_id)
    SELECT workspace_id, :user_id, :via, :via_id, 'token.revoked', 'token', id FROM revoked)
SELECT id FROM current
