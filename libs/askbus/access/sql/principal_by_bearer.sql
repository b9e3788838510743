-- Where the person with this identity may act, with their role as it is now, and the session there that the issuer's token is.
-- No row: nobody has the identity, or they are a member nowhere (or not where they want to be). No id: no session yet, or it ended.
SELECT s.id, m.user_id, m.workspace_id, m.role, m.demo, w.demo_chat
  FROM identities i
  JOIN memberships m ON m.user_id = i.user_id AND (:workspace_id::uuid IS NULL OR m.workspace_id = :workspace_id)
  JOIN workspaces w ON w.id = m.workspace_id
  LEFT JOIN (sessions t JOIN live_sessions s USING (id))
    ON t.bearer = :bearer AND t.workspace_id = m.workspace_id AND t.user_id = m.user_id
 WHERE i.issuer = :issuer AND i.subject = :subject
 ORDER BY w.name, w.id
 LIMIT 100
