-- Makes a user a member of a workspace, or changes their role. The last owner stays one.
-- The owners' rows are locked first: of two owners who demote each other at once, the second finds itself the last.
WITH owners AS MATERIALIZED (
    SELECT user_id FROM memberships WHERE workspace_id = :workspace_id AND role = 'owner' ORDER BY user_id FOR UPDATE)
INSERT INTO memberships (workspace_id, user_id, role, demo, trace) VALUES (:workspace_id, :user_id, :role, :demo, :trace)
    ON CONFLICT (workspace_id, user_id) DO UPDATE SET role = EXCLUDED.role, demo = EXCLUDED.demo, trace = EXCLUDED.trace
    WHERE EXCLUDED.role = 'owner' OR NOT EXISTS (SELECT FROM owners o WHERE o.user_id = memberships.user_id)
       OR EXISTS (SELECT FROM owners o WHERE o.user_id <> memberships.user_id)
RETURNING role
