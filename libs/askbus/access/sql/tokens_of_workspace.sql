-- Every API token of a workspace's members as it stands now, by its owner, the newest first.
SELECT t.id, u.email, t.name, t.prefix, t.scopes, t.created_at, t.expires_at, t.last_used_at,
       ARRAY(SELECT p.name FROM projects p WHERE p.workspace_id = t.workspace_id AND p.id = ANY (t.projects) ORDER BY p.name) AS projects,
       CASE WHEN t.state = 'active' AND t.expires_at <= now() THEN 'expired' ELSE t.state::text END AS state
  FROM memberships m
  JOIN users u ON u.id = m.user_id
  JOIN tokens t ON t.user_id = m.user_id AND t.workspace_id = m.workspace_id AND t.kind = 'api'
 WHERE m.workspace_id = :workspace_id
 ORDER BY lower(u.email), t.id DESC
