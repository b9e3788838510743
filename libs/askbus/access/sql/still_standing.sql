-- Which of these sessions and tokens still count: as in principal_by_membership.sql. Each is looked up by itself.
SELECT p.id
  FROM unnest(:ids::uuid[], :user_ids::uuid[], :workspace_ids::uuid[]) AS p(id, user_id, workspace_id)
 CROSS JOIN LATERAL (
       SELECT
         FROM memberships m
         JOIN workspaces w ON w.id = m.workspace_id
         LEFT JOIN tokens t ON t.id = p.id AND t.user_id = m.user_id AND t.workspace_id = m.workspace_id
                           AND t.state = 'active' AND (t.expires_at IS NULL OR t.expires_at > now()) AND (t.kind = 'api' OR w.mcp)
         LEFT JOIN live_sessions s ON s.id = p.id AND s.user_id = m.user_id AND s.workspace_id = m.workspace_id
        WHERE m.user_id = p.user_id AND m.workspace_id = p.workspace_id AND (t.id IS NOT NULL OR s.id IS NOT NULL)
       OFFSET 0) standing
