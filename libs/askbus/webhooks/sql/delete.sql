-- Deletes a webhook with its deliveries.
WITH gone AS (
    DELETE FROM webhooks w
     WHERE w.id = :id AND w.workspace_id = :workspace_id
       AND (:operator OR EXISTS (SELECT FROM memberships m
                                  WHERE m.workspace_id = w.workspace_id AND m.user_id = :user_id AND m.role IN ('owner', 'admin')))
    RETURNING *),
audited AS (
    INSERT INTO audit_log (workspace_id, project_id, user_id, via, via_id, event, entity, entity_id)
    SELECT workspace_id, project_id, :user_id, :via, :via_id, 'webhook.deleted', 'webhook', id FROM gone)
SELECT * FROM gone
