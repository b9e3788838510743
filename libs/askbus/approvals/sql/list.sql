-- A page of the standing approvals that this person may see, newest first: those of the projects that they see.
SELECT s.*, CASE WHEN s.state = 'active' AND s.expires_at <= now() THEN 'expired' ELSE s.state END AS state_now,
       CASE WHEN s.state = 'active' AND s.expires_at <= now() THEN s.expires_at ELSE s.ended_at END AS ended_now,
       maker.name AS made_by, revoker.name AS revoked_by_name, token.name AS token_name
  FROM standing_approvals s
  JOIN project_access p ON p.workspace_id = s.workspace_id AND p.project_id = s.project_id AND p.user_id = :user_id
  JOIN users maker ON maker.id = s.user_id
  LEFT JOIN users revoker ON revoker.id = s.revoked_by
  LEFT JOIN tokens token ON token.id = s.token_id
 WHERE s.workspace_id = :workspace_id
   AND (:id::uuid IS NULL OR s.id = :id)
   AND (:project_id::uuid IS NULL OR s.project_id = :project_id)
   AND (:thread_id::uuid IS NULL OR s.thread_id = :thread_id)
   AND (:token_id::uuid IS NULL OR s.token_id = :token_id)
   AND (:state::approval_state IS NULL
        OR CASE WHEN s.state = 'active' AND s.expires_at <= now() THEN 'expired' ELSE s.state END = :state)
   AND (:before::uuid IS NULL
        OR (s.made_at, s.id) < (SELECT b.made_at, b.id FROM standing_approvals b WHERE b.id = :before AND b.workspace_id = :workspace_id))
 ORDER BY s.made_at DESC, s.id DESC
 LIMIT :limit
