-- The owner who was made first, and whether there is nobody at all yet.
SELECT owner.workspace_id, owner.user_id, NOT EXISTS (SELECT FROM users) AS nobody
  FROM (SELECT) AS one
  LEFT JOIN LATERAL (
        SELECT workspace_id, user_id FROM memberships WHERE role = 'owner' ORDER BY workspace_id, user_id LIMIT 1) owner ON true
