-- A workspace's webhooks, for its owners and admins.
SELECT w.* FROM webhooks w
 WHERE w.workspace_id = :workspace_id AND (:id::uuid IS NULL OR w.id = :id)
   AND (:operator OR EXISTS (SELECT FROM memberships m
                              WHERE m.workspace_id = w.workspace_id AND m.user_id = :user_id AND m.role IN ('owner', 'admin')))
 ORDER BY w.created_at, w.id
