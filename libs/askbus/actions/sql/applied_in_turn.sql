-- The applied actions of a turn that this principal may see, the one that was applied last first.
SELECT a.id
  FROM actions a
  JOIN project_access p ON p.workspace_id = a.workspace_id AND p.project_id = a.project_id AND p.user_id = :user_id
 WHERE a.turn_id = :turn_id AND a.workspace_id = :workspace_id AND a.state = 'applied'
   AND (:projects::uuid[] IS NULL OR a.project_id = ANY (:projects::uuid[]))
 ORDER BY (a.outcome ->> 'at')::timestamptz DESC, a.id DESC
