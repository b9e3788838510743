-- Settles a batch of what ended turns still ask (one turn's, or any's where :turn_id is null): the turn's row says why it ended.
WITH left_open AS MATERIALIZED (
    SELECT o.id, e.cancel_reason, e.trace
      FROM questions o JOIN turns e ON e.id = o.turn_id
     WHERE o.state = 'open' AND e.state IN ('completed', 'failed', 'cancelled') AND (:turn_id::uuid IS NULL OR o.turn_id = :turn_id)
     ORDER BY o.id LIMIT 100
       FOR UPDATE OF o SKIP LOCKED)
UPDATE questions q
   SET state = (CASE WHEN l.cancel_reason = 'superseded' THEN 'superseded' ELSE 'cancelled' END)::question_state,
       settled_at = coalesce(:now, now()), trace = l.trace
  FROM left_open l
 WHERE q.id = l.id
RETURNING q.id
