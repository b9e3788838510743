-- A page of the audit trail of actions that this principal may see, newest first: who did what and when, with the outcome where there
-- is one. `:actions` keeps those of certain actions, `:before` what comes after that entry.
SELECT l.id, l.at, l.event, l.via, l.user_id, who.name AS by_name, token.name AS with_token, l.entity_id AS action_id, l.part_id AS undo_id,
       CASE WHEN l.via = 'standing-approval' THEN l.via_id END AS approval_id, a.project_id, a.thread_id, a.turn_id, a.headline,
       CASE WHEN l.event = 'action.rejected' THEN a.reason END AS reason,
       CASE WHEN l.event IN ('action.confirmed', 'action.rejected') THEN a.decisions END AS decisions,
       CASE WHEN l.event IN ('action.applied', 'action.failed', 'action.conflicted') THEN a.outcome
            WHEN l.event IN ('action.undone', 'action.undo_refused') THEN u.outcome END AS outcome
  FROM audit_log l
  JOIN actions a ON a.id = l.entity_id
  JOIN project_access p ON p.workspace_id = a.workspace_id AND p.project_id = a.project_id AND p.user_id = :user_id
  LEFT JOIN undos u ON u.id = l.part_id
  LEFT JOIN users who ON who.id = l.user_id
  LEFT JOIN tokens token ON token.id = l.via_id AND l.via = 'token'
 WHERE l.entity = 'action' AND l.workspace_id = :workspace_id AND a.workspace_id = :workspace_id
   AND (:projects::uuid[] IS NULL OR a.project_id = ANY (:projects::uuid[]))
   AND (:actions::uuid[] IS NULL OR l.entity_id = ANY (:actions::uuid[]))
   AND (:before::uuid IS NULL
        OR (l.at, l.id) < (SELECT b.at, b.id FROM audit_log b WHERE b.id = :before AND b.workspace_id = :workspace_id))
 ORDER BY l.at DESC, l.id DESC
 LIMIT :limit
