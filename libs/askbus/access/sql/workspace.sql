-- A workspace with what it chose, for its owners and admins.
SELECT w.id, w.name, w.time_zone, w.demo_chat, w.instructions, w.model, w.number_check
  FROM workspaces w
  JOIN memberships a ON a.workspace_id = w.id AND a.user_id = :by_user_id AND a.role IN ('owner', 'admin')
 WHERE w.id = :workspace_id
