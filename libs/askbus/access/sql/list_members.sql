-- A page of a workspace's members, for its owners and admins: who came last first, each with the projects that they were added to.
SELECT u.id, u.name, u.email, m.role, m.demo,
       ARRAY(SELECT p.project_id FROM project_members p
              WHERE p.user_id = m.user_id AND p.workspace_id = m.workspace_id ORDER BY p.project_id) AS projects
  FROM memberships m JOIN users u ON u.id = m.user_id
 WHERE m.workspace_id = :workspace_id AND (:before::uuid IS NULL OR m.user_id < :before)
   AND EXISTS (SELECT FROM memberships a
                WHERE a.workspace_id = m.workspace_id AND a.user_id = :by_user_id AND a.role IN ('owner', 'admin'))
 ORDER BY m.user_id DESC
 LIMIT :limit
