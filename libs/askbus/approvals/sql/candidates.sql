-- The standing approvals that could confirm a pending action by its place, the oldest first, with what is to be compared. No row: none
-- has to be looked at.
SELECT s.id, s.cover, a.digest, a.operations
  FROM actions a
  JOIN approvals_of_actions o ON o.action_id = a.id
  JOIN standing_approvals s ON s.id = o.approval_id
 WHERE a.id = :action_id AND a.state = 'pending' AND a.weighed_at IS NULL AND s.state = 'active'
 ORDER BY s.made_at, s.id
