-- The apps that a user connected in a workspace, or all of the workspace's, newest first, while their grants last.
SELECT t.id, t.name, c.url, c.redirect_uris, t.scopes, t.projects, t.created_at, t.expires_at, t.last_used_at, t.user_id,
       u.name AS user_name
  FROM tokens t
  JOIN oauth_clients c ON c.id = t.client_id
  JOIN users u ON u.id = t.user_id
 WHERE t.workspace_id = :workspace_id AND t.kind = 'oauth' AND t.state = 'active' AND t.expires_at > now()
   AND (t.user_id = :user_id OR :everybody)
 ORDER BY t.id DESC
