-- Removes a user from a workspace, with their sessions and tokens there. The last owner stays.
DELETE FROM memberships m
 WHERE m.workspace_id = :workspace_id AND m.user_id = :user_id
   AND (m.role <> 'owner'
        OR EXISTS (SELECT FROM memberships o WHERE o.workspace_id = :workspace_id AND o.role = 'owner' AND o.user_id <> :user_id))
