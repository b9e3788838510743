-- Who an access token stands for at this audience, with the person's role as it is now, noting once a minute that its grant is used.
-- No row: unknown, expired, for another audience, or its grant is over.
WITH used AS (
    UPDATE tokens t SET last_used_at = now()
      FROM oauth_access_tokens a
     WHERE a.hash = :hash AND a.resource = :resource AND a.expires_at > now()
       AND t.id = a.grant_id AND t.state = 'active' AND t.expires_at > now()
       AND (t.last_used_at IS NULL OR t.last_used_at < now() - interval '1 minute'))
SELECT t.id, t.user_id, t.workspace_id, t.projects, m.role, m.demo, w.demo_chat, w.mcp,
       ARRAY(SELECT unnest(t.scopes) INTERSECT SELECT unnest(a.scopes)) AS scopes
  FROM oauth_access_tokens a
  JOIN tokens t ON t.id = a.grant_id
  JOIN memberships m ON m.workspace_id = t.workspace_id AND m.user_id = t.user_id
  JOIN workspaces w ON w.id = t.workspace_id
 WHERE a.hash = :hash AND a.resource = :resource AND a.expires_at > now()
   AND t.kind = 'oauth' AND t.state = 'active' AND t.expires_at > now()
