-- Removes a user from a workspace; the membership's trigger ends their sessions and tokens there. The last owner stays.
-- The owners' rows are locked first, with their own, in one order: of two owners who remove each other at once, the second finds itself
-- the last.
WITH locked AS MATERIALIZED (
    SELECT user_id, role FROM memberships
     WHERE workspace_id = :workspace_id AND (role = 'owner' OR user_id = :user_id)
     ORDER BY user_id FOR UPDATE),
removed AS (
    DELETE FROM memberships m
     WHERE m.workspace_id = :workspace_id AND m.user_id = :user_id
       AND (NOT EXISTS (SELECT FROM locked o WHERE o.role = 'owner' AND o.user_id = :user_id)
            OR EXISTS (SELECT FROM locked o WHERE o.role = 'owner' AND o.user_id <> :user_id))
    RETURNING workspace_id, user_id),
audited AS (
    INSERT INTO audit_log (workspace_id, via, event, entity, entity_id)
    SELECT workspace_id, 'command-line', 'member.removed', 'user', user_id FROM removed)
SELECT user_id FROM removed
