-- Who a session's cookie stands for, with the role as it is now. No row: unknown, ended or expired.
SELECT s.id, s.user_id, s.workspace_id, m.role, m.demo, w.demo_chat
  FROM sessions s
  JOIN memberships m USING (workspace_id, user_id)
  JOIN workspaces w ON w.id = s.workspace_id
 WHERE s.hash = :hash AND s.bearer IS NULL AND s.state = 'active' AND s.expires_at > now()
