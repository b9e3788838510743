-- Changes what is said of a webhook; switching it on forgets what went wrong, switching it off holds what was to be sent.
WITH current AS (
    SELECT w.id, w.state FROM webhooks w
     WHERE w.id = :id AND w.workspace_id = :workspace_id
       AND (:operator OR EXISTS (SELECT FROM memberships m
                                  WHERE m.workspace_id = w.workspace_id AND m.user_id = :user_id AND m.role IN ('owner', 'admin')))
       FOR NO KEY UPDATE),
moved AS (
    UPDATE webhooks w
       SET url = coalesce(:url, w.url), events = coalesce(:events, w.events), state = coalesce(:state, w.state),
           reason = CASE coalesce(:state::webhook_state, w.state) WHEN 'active' THEN NULL ELSE coalesce(w.reason, 'switched_off') END,
           failing_since = CASE WHEN :state = 'active' OR :url IS NOT NULL THEN NULL ELSE w.failing_since END,
           trace = :trace
      FROM current WHERE w.id = current.id
    RETURNING w.*),
held AS (
    UPDATE webhook_deliveries d SET state = 'held', settled_at = now(), leased = false
      FROM moved WHERE d.webhook_id = moved.id AND moved.state = 'disabled' AND d.state = 'pending'),
audited AS (
    INSERT INTO audit_log (workspace_id, project_id, user_id, via, via_id, event, entity, entity_id)
    SELECT workspace_id, project_id, :user_id, :via, :via_id, 'webhook.changed', 'webhook', id FROM moved)
SELECT * FROM moved
