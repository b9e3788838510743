-- The token that has something to hear about this action, if any: while it works, and sees the project. A connection that was made with it
-- outlives both.
SELECT a.token_id
  FROM actions a
  JOIN tokens t ON t.id = a.token_id AND t.state = 'active' AND (t.expires_at IS NULL OR t.expires_at > now())
  JOIN project_access p ON p.project_id = a.project_id AND p.user_id = t.user_id
 WHERE a.id = :id AND a.untold > 0
