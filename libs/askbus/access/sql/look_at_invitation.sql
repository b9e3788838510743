-- What a link is for, as long as it can be used: shown before anybody presses anything. `known`: the address is somebody's already;
-- `must_sign_in`: and they are a member somewhere, so that the link alone does not speak for them.
SELECT w.name AS workspace, i.email, i.role, i.demo, inviter.name AS invited_by, i.expires_at, u.id IS NOT NULL AS known,
       EXISTS (SELECT FROM memberships o WHERE o.user_id = u.id) AS must_sign_in
  FROM invitations i
  JOIN workspaces w ON w.id = i.workspace_id
  JOIN users inviter ON inviter.id = i.invited_by
  JOIN memberships m ON m.workspace_id = i.workspace_id AND m.user_id = i.invited_by
  LEFT JOIN users u ON lower(u.email) = lower(i.email)
 WHERE i.hash = :hash AND i.state = 'pending' AND i.expires_at > coalesce(:now, now())
   AND (m.role = 'owner' OR (m.role = 'admin' AND i.role <> 'owner'))
