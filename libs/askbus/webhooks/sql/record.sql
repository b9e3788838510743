-- One delivery for each webhook that wants this change, each once however often the fact arrives. What only one user may see goes nowhere.
-- The transaction is what the log is found by.
INSERT INTO webhook_deliveries (id, webhook_id, workspace_id, project_id, event, entity_id, status, assignee_id, occurred_at, state,
                                settled_at)
SELECT md5(concat_ws(':', w.id, c.fact, c.entity_id, c.seq))::uuid, w.id, c.workspace_id, c.project_id, c.fact, c.entity_id, c.status,
       c.assignee_id, c.at, CASE w.state WHEN 'active' THEN 'pending' ELSE 'held' END::delivery_state,
       CASE w.state WHEN 'disabled' THEN now() END
  FROM change_log c
  JOIN webhooks w ON w.workspace_id = c.workspace_id AND (w.project_id IS NULL OR w.project_id = c.project_id)
 WHERE c.xid = :xid::bigint::text::xid8 AND c.seq = :seq AND c.fact = :fact AND c.entity_id = :entity_id
   AND c.fact = ANY (w.events) AND c.user_id IS NULL AND c.at >= w.created_at
    ON CONFLICT (id) DO NOTHING
RETURNING id
