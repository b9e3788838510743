-- A delivery that tells of nothing. The same command sent again finds it.
INSERT INTO webhook_deliveries (id, webhook_id, workspace_id, project_id, event, entity_id, status, occurred_at, state)
SELECT :id, w.id, w.workspace_id, w.project_id, :event, w.id, w.state, now(), 'pending'
  FROM webhooks w
 WHERE w.id = :webhook_id AND w.workspace_id = :workspace_id AND w.state = 'active'
   AND (:operator OR EXISTS (SELECT FROM memberships m
                              WHERE m.workspace_id = w.workspace_id AND m.user_id = :user_id AND m.role IN ('owner', 'admin')))
    ON CONFLICT (id) DO UPDATE SET due_at = webhook_deliveries.due_at WHERE webhook_deliveries.webhook_id = EXCLUDED.webhook_id
RETURNING *
