-- A page of actions that this principal may see, newest first, with the names of who proposed and who decided.
-- `:proposer` keeps those that it proposed itself, `:before` what comes after that action.
SELECT n.*, proposer.name AS proposed_by, token.name AS proposed_with, decider.name AS decided_by_name
  FROM actions_now n
  JOIN project_access p ON p.workspace_id = n.workspace_id AND p.project_id = n.project_id AND p.user_id = :user_id
  JOIN users proposer ON proposer.id = n.user_id
  LEFT JOIN tokens token ON token.id = n.token_id
  LEFT JOIN users decider ON decider.id = n.decided_by
 WHERE n.workspace_id = :workspace_id
   AND (:projects::uuid[] IS NULL OR n.project_id = ANY (:projects::uuid[]))
   AND (:project_id::uuid IS NULL OR n.project_id = :project_id)
   AND (:thread_id::uuid IS NULL OR n.thread_id = :thread_id)
   AND (:approval_id::uuid IS NULL OR n.approval_id = :approval_id)
   AND (:state::action_state IS NULL OR n.state = :state)
   AND (:proposer::uuid IS NULL OR n.proposer_id = :proposer)
   AND (:before::uuid IS NULL
        OR (n.proposed_at, n.id) < (SELECT b.proposed_at, b.id FROM actions b WHERE b.id = :before AND b.workspace_id = :workspace_id))
 ORDER BY n.proposed_at DESC, n.id DESC
 LIMIT :limit
