-- Locks the thread of a turn of the user's own, while they see its project. No row: not theirs.
SELECT t.id
  FROM turns o
  JOIN threads t ON t.id = o.thread_id
  JOIN project_access a ON a.project_id = t.project_id AND a.user_id = t.user_id
 WHERE o.id = :turn_id AND t.user_id = :user_id AND t.workspace_id = :workspace_id
   AND (:projects::uuid[] IS NULL OR t.project_id = ANY (:projects::uuid[]))
   FOR UPDATE OF t
