-- A page of the user's own threads, latest made first, without the temporary ones.
SELECT t.*
  FROM threads t
  JOIN project_access a ON a.project_id = t.project_id AND a.user_id = t.user_id
 WHERE t.user_id = :user_id AND t.workspace_id = :workspace_id AND NOT t.temporary
   AND (t.expires_at IS NULL OR t.expires_at > now())
   AND (:projects::uuid[] IS NULL OR t.project_id = ANY (:projects::uuid[]))
   AND (:project_id::uuid IS NULL OR t.project_id = :project_id)
   AND (:before::uuid IS NULL OR t.id < :before)
 ORDER BY t.id DESC
 LIMIT :limit
