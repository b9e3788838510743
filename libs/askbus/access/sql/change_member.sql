-- Changes a member's role and demo flag; what is null stays. The rows of both, and of every owner, are locked in one order, so that each
-- of two who change each other is weighed by the role that they have left. `refusal` says why it stayed as it was; no row: no such member.
WITH locked AS MATERIALIZED (
    SELECT user_id, role, demo FROM memberships
     WHERE workspace_id = :workspace_id AND (role = 'owner' OR user_id IN (:by_user_id, :user_id))
     ORDER BY user_id FOR UPDATE),
wanted AS (
    SELECT t.user_id, t.role AS was, t.demo AS was_demo, coalesce(:role, t.role) AS role, coalesce(:demo, t.demo) AS demo,
           a.role AS by_role
      FROM locked t LEFT JOIN locked a ON a.user_id = :by_user_id
     WHERE t.user_id = :user_id),
weighed AS (
    SELECT w.*,
           CASE WHEN w.by_role IS NULL OR w.by_role NOT IN ('owner', 'admin') THEN 'not_admin'
                WHEN w.by_role <> 'owner' AND 'owner' IN (w.was, w.role) THEN 'owners_only'
                WHEN w.was = 'owner' AND w.role <> 'owner'
                     AND NOT EXISTS (SELECT FROM locked o WHERE o.role = 'owner' AND o.user_id <> w.user_id) THEN 'last_owner'
                WHEN w.demo AND w.role IN ('owner', 'admin') THEN 'demo' END AS refusal
      FROM wanted w),
moved AS (
    UPDATE memberships m SET role = w.role, demo = w.demo, trace = :trace
      FROM weighed w
     WHERE m.workspace_id = :workspace_id AND m.user_id = w.user_id AND w.refusal IS NULL AND (w.was, w.was_demo) <> (w.role, w.demo)
    RETURNING m.workspace_id, m.user_id),
audited AS (
    INSERT INTO audit_log (workspace_id, user_id, via, via_id, event, entity, entity_id)
    SELECT workspace_id, :by_user_id, 'session', :via_id, 'member.changed', 'user', user_id FROM moved)
SELECT refusal FROM weighed
