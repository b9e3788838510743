-- Locks the user's own thread, while they see its project: whoever appends to it comes here first. No row: not theirs.
SELECT t.id, t.project_id, t.workspace_id
  FROM threads t
  JOIN project_access a ON a.project_id = t.project_id AND a.user_id = t.user_id
 WHERE t.id = :id AND t.user_id = :user_id AND t.workspace_id = :workspace_id
   AND (:projects::uuid[] IS NULL OR t.project_id = ANY (:projects::uuid[]))
   AND (t.expires_at IS NULL OR t.expires_at > now())
   FOR UPDATE OF t
