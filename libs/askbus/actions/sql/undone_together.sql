-- The undos of a turn's actions that were asked for together and that this principal may see, in the order in which they are carried out.
SELECT u.id, u.action_id, u.user_id, u.state, u.requested_at, u.settled_at, u.rest, u.group_id, u.outcome, who.name AS requested_by,
       a.headline, a.turn_id
  FROM undos u
  JOIN actions a ON a.id = u.action_id
  JOIN users who ON who.id = u.user_id
  JOIN project_access p ON p.workspace_id = a.workspace_id AND p.project_id = a.project_id AND p.user_id = :user_id
 WHERE u.group_id = :group_id AND u.workspace_id = :workspace_id
   AND (:projects::uuid[] IS NULL OR a.project_id = ANY (:projects::uuid[]))
 ORDER BY u.place
