-- A file of the user's own, in a project that they see now.
SELECT f.id, f.workspace_id, f.project_id, f.user_id, f.thread_id, f.kind, f.media_type, f.name, f.size, f.pages, f.created_at, f.expires_at
  FROM attached_files f
  JOIN project_access a ON a.project_id = f.project_id AND a.user_id = f.user_id
 WHERE f.id = :id AND f.user_id = :user_id AND f.workspace_id = :workspace_id
   AND (:projects::uuid[] IS NULL OR f.project_id = ANY (:projects::uuid[]))
