-- A page of a webhook's deliveries with their attempts, newest first, for owners and admins of its workspace.
SELECT d.id, d.webhook_id, d.event, d.entity_id, d.status, d.occurred_at, d.state, d.due_at, d.settled_at,
       coalesce((SELECT jsonb_agg(jsonb_build_object('attempt', a.attempt, 'at', a.at, 'status', a.status, 'error', a.error,
                                                     'duration_ms', a.duration_ms) ORDER BY a.attempt)
                   FROM webhook_attempts a WHERE a.delivery_id = d.id), '[]') AS attempts
  FROM webhook_deliveries d
  JOIN webhooks w ON w.id = d.webhook_id
 WHERE d.webhook_id = :webhook_id AND w.workspace_id = :workspace_id AND (:id::uuid IS NULL OR d.id = :id)
   AND (:operator OR EXISTS (SELECT FROM memberships m
                              WHERE m.workspace_id = w.workspace_id AND m.user_id = :user_id AND m.role IN ('owner', 'admin')))
   AND (:state::delivery_state IS NULL OR d.state = :state)
   AND (:before::uuid IS NULL OR (d.occurred_at, d.id) < (SELECT b.occurred_at, b.id FROM webhook_deliveries b
                                                           WHERE b.id = :before AND b.webhook_id = :webhook_id))
 ORDER BY d.occurred_at DESC, d.id DESC
 LIMIT :limit
