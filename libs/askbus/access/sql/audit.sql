-- A page of a workspace's audit log, for its owners and admins, the newest first. Names are those of now, of what every admin may see:
-- people, projects, tokens and invitations.
SELECT l.id, l.at, l.event, l.entity, l.entity_id, l.part_id, l.project_id, p.name AS project_name, l.user_id, u.name AS user_name, l.via,
       l.via_id, t.name AS token_name,
       CASE l.entity WHEN 'user' THEN (SELECT e.name FROM users e WHERE e.id = l.entity_id)
                     WHEN 'project' THEN (SELECT e.name FROM projects e WHERE e.id = l.entity_id AND e.workspace_id = l.workspace_id)
                     WHEN 'token' THEN (SELECT e.name FROM tokens e WHERE e.id = l.entity_id AND e.workspace_id = l.workspace_id)
                     WHEN 'invitation' THEN (SELECT e.email FROM invitations e
                                              WHERE e.id = l.entity_id AND e.workspace_id = l.workspace_id)
                     WHEN 'workspace' THEN (SELECT e.name FROM workspaces e WHERE e.id = l.entity_id AND e.id = l.workspace_id)
       END AS entity_name
  FROM audit_log l
  LEFT JOIN users u ON u.id = l.user_id
  LEFT JOIN projects p ON p.id = l.project_id AND p.workspace_id = l.workspace_id
  LEFT JOIN tokens t ON t.id = l.via_id AND l.via = 'token' AND t.workspace_id = l.workspace_id
 WHERE l.workspace_id = :workspace_id
   AND EXISTS (SELECT FROM memberships a
                WHERE a.workspace_id = l.workspace_id AND a.user_id = :by_user_id AND a.role IN ('owner', 'admin'))
   AND (:user_id::uuid IS NULL OR l.user_id = :user_id)
   AND (:event::text IS NULL OR l.event = :event)
   AND (:entity::text IS NULL OR l.entity = :entity)
   AND (:entity_id::uuid IS NULL OR l.entity_id = :entity_id)
   AND (:project_id::uuid IS NULL OR l.project_id = :project_id)
   AND (:since::timestamptz IS NULL OR l.at >= :since)
   AND (:until::timestamptz IS NULL OR l.at < :until)
   AND (:before::uuid IS NULL
        OR (l.at, l.id) < (SELECT b.at, b.id FROM audit_log b WHERE b.id = :before AND b.workspace_id = :workspace_id))
 ORDER BY l.at DESC, l.id DESC
 LIMIT :limit
