-- A page of a workspace's audit log, for its owners and admins, the newest first.
SELECT l.*
  FROM audit_entries l
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
