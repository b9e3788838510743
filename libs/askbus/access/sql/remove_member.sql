-- Removes a user from a workspace and ends their sessions and tokens there. The last owner stays.
-- The owners' rows are locked first: of two owners who remove each other at once, the second finds itself the last.
WITH owners AS MATERIALIZED (
    SELECT user_id FROM memberships WHERE workspace_id = :workspace_id AND role = 'owner' ORDER BY user_id FOR UPDATE),
removed AS (
    DELETE FROM memberships m
     WHERE m.workspace_id = :workspace_id AND m.user_id = :user_id
       AND (m.role <> 'owner' OR EXISTS (SELECT FROM owners o WHERE o.user_id <> :user_id))
    RETURNING user_id),
signed_out AS (
    UPDATE sessions SET state = 'revoked'
     WHERE workspace_id = :workspace_id AND user_id IN (SELECT user_id FROM removed) AND state = 'active'),
revoked AS (
    UPDATE tokens SET state = 'revoked'
     WHERE workspace_id = :workspace_id AND user_id IN (SELECT user_id FROM removed) AND state = 'active')
SELECT user_id FROM removed
