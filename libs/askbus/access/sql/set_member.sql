-- Makes a user a member of a workspace, or changes their role. The last owner stays one.
INSERT INTO memberships (workspace_id, user_id, role, demo, trace) VALUES (:workspace_id, :user_id, :role, :demo, :trace)
    ON CONFLICT (workspace_id, user_id) DO UPDATE SET role = EXCLUDED.role, demo = EXCLUDED.demo, trace = EXCLUDED.trace
    WHERE EXCLUDED.role = 'owner' OR memberships.role <> 'owner'
       OR EXISTS (SELECT FROM memberships o WHERE o.workspace_id = :workspace_id AND o.role = 'owner' AND o.user_id <> :user_id)
RETURNING role
