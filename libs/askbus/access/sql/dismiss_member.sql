-- Removes a member, as far as the one who asks may now; the membership's trigger ends their sessions and tokens. Anybody may leave.
-- Locked like change_member.sql. `refusal` says why they stayed; no row: no such member.
WITH locked AS MATERIALIZED (
    SELECT user_id, role FROM memberships
     WHERE workspace_id = :workspace_id AND (role = 'owner' OR user_id IN (:by_user_id, :user_id))
     ORDER BY user_id FOR UPDATE),
weighed AS (
    SELECT t.user_id,
           CASE WHEN a.role IS NULL OR (a.role NOT IN ('owner', 'admin') AND a.user_id <> t.user_id) THEN 'not_admin'
                WHEN t.role = 'owner' AND a.role <> 'owner' THEN 'owners_only'
                WHEN t.role = 'owner'
                     AND NOT EXISTS (SELECT FROM locked o WHERE o.role = 'owner' AND o.user_id <> t.user_id) THEN 'last_owner'
           END AS refusal
      FROM locked t LEFT JOIN locked a ON a.user_id = :by_user_id
     WHERE t.user_id = :user_id),
removed AS (
    DELETE FROM memberships m USING weighed w
     WHERE m.workspace_id = :workspace_id AND m.user_id = w.user_id AND w.refusal IS NULL
    RETURNING m.workspace_id, m.user_id),
audited AS (
    INSERT INTO audit_log (workspace_id, user_id, via, via_id, event, entity, entity_id)
    SELECT workspace_id, :by_user_id, 'session', :via_id, 'member.removed', 'user', user_id FROM removed)
SELECT refusal FROM weighed
