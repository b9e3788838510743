-- The owner who was made at the first start, and whether anybody has ever signed in.
SELECT m.workspace_id, m.user_id, EXISTS (SELECT FROM sessions) AS signed_in
  FROM memberships m
 WHERE m.role = 'owner'
 ORDER BY m.workspace_id
 LIMIT 1
