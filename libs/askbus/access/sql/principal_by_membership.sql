-- Whether a principal that was authenticated before is still who it was: same session or token, role as it is now. No row: it ended.
SELECT m.user_id, m.workspace_id, m.role, m.demo, w.demo_chat, t.scopes, t.projects, coalesce(u.time_zone, w.time_zone) AS time_zone, u.locale,
       extract(epoch FROM coalesce(t.expires_at, s.expires_at) - now())::float8 AS seconds_left
  FROM memberships m
  JOIN workspaces w ON w.id = m.workspace_id
  JOIN users u ON u.id = m.user_id
  LEFT JOIN tokens t ON t.id = :id AND t.user_id = m.user_id AND t.workspace_id = m.workspace_id
                    AND t.state = 'active' AND (t.expires_at IS NULL OR t.expires_at > now()) AND (t.kind = 'api' OR w.mcp)
  LEFT JOIN live_sessions s ON s.id = :id AND s.user_id = m.user_id AND s.workspace_id = m.workspace_id
 WHERE m.user_id = :user_id AND m.workspace_id = :workspace_id AND (t.id IS NOT NULL OR s.id IS NOT NULL)
