-- A new secret; the one before signs too for :overlap seconds. The same command sent again changes nothing.
WITH current AS (
    SELECT w.id FROM webhooks w
     WHERE w.id = :id AND w.workspace_id = :workspace_id
       AND (:operator OR EXISTS (SELECT FROM memberships m
                                  WHERE m.workspace_id = w.workspace_id AND m.user_id = :user_id AND m.role IN ('owner', 'admin')))
       FOR NO KEY UPDATE),
moved AS (
    UPDATE webhooks w
       SET secret = :secret, secret_command = :command_id, trace = :trace,
           old_secret = CASE WHEN :overlap > 0 THEN w.secret END,
           old_until = CASE WHEN :overlap > 0 THEN now() + make_interval(secs => :overlap) END
      FROM current WHERE w.id = current.id AND w.secret_command <> :command_id
    RETURNING w.*),
audited AS (
    INSERT INTO audit_log (workspace_id, project_id, user_id, via, via_id, event, entity, entity_id)
    SELECT workspace_id, project_id, :user_id, :via, :via_id, 'webhook.rotated', 'webhook', id FROM moved)
SELECT * FROM moved
 UNION ALL
SELECT w.* FROM webhooks w JOIN current USING (id) WHERE NOT EXISTS (SELECT FROM moved)
