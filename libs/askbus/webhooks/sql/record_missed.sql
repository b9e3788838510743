-- The same for changes of the last hour whose fact never arrived: NATS lost it, or has it still. Webhooks first: mostly there are none.
INSERT INTO webhook_deliveries (id, webhook_id, workspace_id, project_id, event, entity_id, status, assignee_id, occurred_at, state,
                                settled_at)
SELECT md5(concat_ws(':', w.id, c.fact, c.entity_id, c.seq))::uuid, w.id, c.workspace_id, c.project_id, c.fact, c.entity_id, c.status,
       c.assignee_id, c.at, CASE w.state WHEN 'active' THEN 'pending' ELSE 'held' END::delivery_state,
       CASE w.state WHEN 'disabled' THEN now() END
  FROM change_log c
  JOIN webhooks w ON w.workspace_id = c.workspace_id AND (w.project_id IS NULL OR w.project_id = c.project_id)
 WHERE EXISTS (SELECT FROM webhooks)
   AND c.at BETWEEN now() - interval '1 hour' AND now() - make_interval(secs => :rested)
   AND c.fact = ANY (w.events) AND c.user_id IS NULL AND c.at >= w.created_at
   AND NOT EXISTS (SELECT FROM webhook_deliveries d WHERE d.id = md5(concat_ws(':', w.id, c.fact, c.entity_id, c.seq))::uuid)
    ON CONFLICT (id) DO NOTHING
RETURNING id
