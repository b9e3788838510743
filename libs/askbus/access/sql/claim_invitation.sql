-- Locks an invitation that can be used now: by the hash of its code, or the newest one for an address. Whoever sent it keeps the right to
-- invite for this role until the caller's transaction ends. No row: unknown, used, revoked, expired, or they have lost that right.
SELECT i.id, i.workspace_id, i.email, i.role, i.demo, i.projects
  FROM invitations i
  JOIN memberships m ON m.workspace_id = i.workspace_id AND m.user_id = i.invited_by
 WHERE i.state = 'pending' AND i.expires_at > coalesce(:now, now())
   AND (i.hash = :hash OR (lower(i.email) = lower(:email) AND (:workspace_id::uuid IS NULL OR i.workspace_id = :workspace_id)))
   AND (m.role = 'owner' OR (m.role = 'admin' AND i.role <> 'owner'))
 ORDER BY i.id DESC
 LIMIT 1
   FOR UPDATE OF i FOR SHARE OF m
