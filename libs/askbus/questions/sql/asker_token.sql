-- The token that has something to hear about this question, if any: while it works, and sees the project. A connection that was made with it
-- outlives both.
SELECT q.token_id
  FROM questions q
  JOIN tokens t ON t.id = q.token_id AND t.state = 'active' AND (t.expires_at IS NULL OR t.expires_at > now())
  JOIN project_access a ON a.project_id = q.project_id AND a.user_id = t.user_id
 WHERE q.id = :id AND q.untold > 0
