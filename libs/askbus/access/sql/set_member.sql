-- Makes a user a member of a workspace, or changes their role. The last owner stays one.
-- The owners' rows are locked first, with their own, in one order: of two owners who demote each other at once, the second finds itself
-- the last. They are counted before anything is inserted, or its own row, where there is one, would be locked before the owners'.
WITH locked AS MATERIALIZED (
    SELECT user_id, role FROM memberships
     WHERE workspace_id = :workspace_id AND (role = 'owner' OR user_id = :user_id)
     ORDER BY user_id FOR UPDATE),
owners AS (SELECT user_id FROM locked WHERE role = 'owner'),
moved AS (
    INSERT INTO memberships (workspace_id, user_id, role, demo, trace)
    SELECT :workspace_id, :user_id, :role, :demo, :trace FROM (SELECT count(*) FROM locked) AS first
        ON CONFLICT (workspace_id, user_id) DO UPDATE SET role = EXCLUDED.role, demo = EXCLUDED.demo, trace = EXCLUDED.trace
        WHERE EXCLUDED.role = 'owner' OR NOT EXISTS (SELECT FROM owners o WHERE o.user_id = memberships.user_id)
           OR EXISTS (SELECT FROM owners o WHERE o.user_id <> memberships.user_id)
    RETURNING workspace_id, user_id, role, xmax = 0 AS fresh),
audited AS (
    INSERT INTO audit_log (workspace_id, via, event, entity, entity_id)
    SELECT workspace_id, 'command-line', CASE WHEN fresh THEN 'member.added' ELSE 'member.changed' END, 'user', user_id FROM moved)
SELECT role FROM moved
