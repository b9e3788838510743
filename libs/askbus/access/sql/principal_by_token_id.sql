-- Who an API token stands for, by its row: how a service checks the agent that a bus subject names. No row: revoked or expired.
SELECT t.id, t.user_id, t.workspace_id, t.scopes, t.projects, m.role, m.demo, w.demo_chat
  FROM tokens t
  JOIN memberships m USING (workspace_id, user_id)
  JOIN workspaces w ON w.id = t.workspace_id
 WHERE t.id = :id AND t.state = 'active' AND (t.expires_at IS NULL OR t.expires_at > now())
