-- A page of a workspace's invitations as they stand now, the newest first, for its owners and admins. `stands`: whoever sent it last may
-- still invite for this role.
SELECT i.id, i.email, i.role, i.demo, i.projects, i.invited_by, u.name AS invited_by_name, i.invited_at, i.expires_at, i.settled_at,
       i.user_id, s.state, s.state = 'pending' AND (m.role = 'owner' OR (m.role = 'admin' AND i.role <> 'owner')) IS TRUE AS stands
  FROM invitations i
  JOIN users u ON u.id = i.invited_by
  LEFT JOIN memberships m ON m.workspace_id = i.workspace_id AND m.user_id = i.invited_by
 CROSS JOIN LATERAL (
       SELECT CASE WHEN i.state = 'pending' AND i.expires_at <= now() THEN 'expired' ELSE i.state END AS state) s
 WHERE i.workspace_id = :workspace_id AND (:before::uuid IS NULL OR i.id < :before) AND (:id::uuid IS NULL OR i.id = :id)
   AND (:state::invitation_state IS NULL OR s.state = :state)
   AND EXISTS (SELECT FROM memberships a
                WHERE a.workspace_id = i.workspace_id AND a.user_id = :by_user_id AND a.role IN ('owner', 'admin'))
 ORDER BY i.id DESC
 LIMIT :limit
