-- A user's own tokens in a workspace, newest first, each as it stands now.
SELECT id, name, prefix, scopes, projects, created_at, expires_at, last_used_at, mcp_hold,
       CASE WHEN state = 'active' AND expires_at <= now() THEN 'expired' ELSE state END AS state
  FROM tokens
 WHERE workspace_id = :workspace_id AND user_id = :user_id AND kind = 'api'
 ORDER BY id DESC
