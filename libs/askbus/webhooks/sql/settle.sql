-- What became of an attempt. Only the attempt that holds the delivery moves it; a late one is logged and nothing more. The webhook is locked
-- first, as by everybody who locks both; where it ends by this attempt, what else waits for it is held.
WITH hook AS MATERIALIZED (
    SELECT w.id, w.state, w.failing_since,
           w.state = 'active' AND (:outcome = 'gone' OR :outcome <> 'delivered'
                                   AND coalesce(w.failing_since < now() - make_interval(secs => :dead_after), false)) AS ends
      FROM webhooks w WHERE w.id = :webhook_id
       FOR NO KEY UPDATE),
current AS (
    SELECT d.id, hook.ends FROM hook JOIN webhook_deliveries d ON d.webhook_id = hook.id
     WHERE d.id = :id AND d.attempts = :attempt AND d.state IN ('pending', 'held')
       FOR UPDATE OF d),
logged AS (
    UPDATE webhook_attempts SET status = :status, error = :error, duration_ms = :duration_ms
     WHERE delivery_id = :id AND attempt = :attempt),
moved AS (
    UPDATE webhook_deliveries d
       SET leased = false, failures = d.failures + (:outcome <> 'delivered')::int,
           state = CASE WHEN :outcome = 'delivered' THEN 'delivered' WHEN :outcome <> 'again' THEN 'failed'
                        WHEN current.ends OR d.state = 'held' THEN 'held' ELSE 'pending' END::delivery_state,
           due_at = CASE WHEN :outcome = 'again' THEN now() + make_interval(secs => :pause) ELSE now() END,
           settled_at = CASE WHEN :outcome = 'again' AND d.state = 'pending' AND NOT current.ends THEN NULL ELSE now() END
      FROM current WHERE d.id = current.id),
health AS (
    UPDATE webhooks w
       SET failing_since = CASE WHEN :outcome <> 'delivered' THEN coalesce(w.failing_since, now()) END,
           state = CASE WHEN current.ends THEN 'disabled' ELSE w.state END,
           reason = CASE WHEN NOT current.ends THEN w.reason WHEN :outcome = 'gone' THEN 'gone' ELSE 'failing' END,
           trace = NULL
      FROM hook, current
     WHERE w.id = hook.id AND (current.ends OR (:outcome = 'delivered') = (hook.failing_since IS NOT NULL))
    RETURNING w.id, w.workspace_id, w.project_id, w.reason, current.ends),
held AS (
    UPDATE webhook_deliveries d SET state = 'held', settled_at = now(), leased = false
      FROM health WHERE health.ends AND d.webhook_id = health.id AND d.state = 'pending' AND d.id <> :id),
audited AS (
    INSERT INTO audit_log (workspace_id, project_id, via, event, entity, entity_id)
    SELECT workspace_id, project_id, 'service', 'webhook.disabled', 'webhook', id FROM health WHERE ends)
SELECT EXISTS (SELECT FROM current) AS moved, (SELECT reason FROM health WHERE ends) AS disabled
