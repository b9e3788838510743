-- Who an API token stands for, with its owner's role as it is now, noting once a minute that it is used. No row: unknown, revoked or expired.
WITH used AS (
    UPDATE tokens SET last_used_at = now()
     WHERE hash = :hash AND state = 'active' AND (expires_at IS NULL OR expires_at > now())
       AND (last_used_at IS NULL OR last_used_at < now() - interval '1 minute'))
SELECT t.id, t.user_id, t.workspace_id, t.scopes, t.projects, m.role, m.demo, w.demo_chat, w.mcp
  FROM tokens t
  JOIN memberships m USING (workspace_id, user_id)
  JOIN workspaces w ON w.id = t.workspace_id
 WHERE t.hash = :hash AND t.state = 'active' AND (t.expires_at IS NULL OR t.expires_at > now())
