-- Makes deliveries due once more, with a schedule of their own and the id that they had: one, or the oldest of those since a time.
WITH chosen AS (
    SELECT d.id FROM webhook_deliveries d
      JOIN webhooks w ON w.id = d.webhook_id
     WHERE w.id = :webhook_id AND w.workspace_id = :workspace_id AND w.state = 'active'
       AND (:operator OR EXISTS (SELECT FROM memberships m
                                  WHERE m.workspace_id = w.workspace_id AND m.user_id = :user_id AND m.role IN ('owner', 'admin')))
       AND (:delivery_id::uuid IS NULL OR d.id = :delivery_id)
       AND (:since::timestamptz IS NULL OR d.occurred_at >= :since)
       AND (d.state IN ('failed', 'held') OR (d.state = 'delivered' AND (:delivered OR :delivery_id IS NOT NULL))
            OR (d.state = 'pending' AND NOT d.leased AND :delivery_id IS NOT NULL))
     ORDER BY d.occurred_at, d.id LIMIT :most
       FOR UPDATE OF d),
moved AS (
    UPDATE webhook_deliveries d SET state = 'pending', settled_at = NULL, failures = 0, due_at = now()
      FROM chosen WHERE d.id = chosen.id
    RETURNING d.webhook_id, d.workspace_id, d.project_id),
audited AS (
    INSERT INTO audit_log (workspace_id, user_id, via, via_id, event, entity, entity_id)
    SELECT workspace_id, :user_id, :via, :via_id, 'webhook.replayed', 'webhook', webhook_id
      FROM moved GROUP BY workspace_id, webhook_id)
SELECT count(*)::int AS count FROM moved
