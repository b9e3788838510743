-- Settles what an ended turn still asked: its turn's row says why, so the question is superseded or cancelled accordingly.
UPDATE questions q
   SET state = CASE WHEN t.cancel_reason = 'superseded' THEN 'superseded' ELSE 'cancelled' END::question_state,
       settled_at = coalesce(:now, now()), trace = t.trace
  FROM turns t
 WHERE t.id = :turn_id AND q.turn_id = t.id AND q.state = 'open' AND t.state IN ('completed', 'failed', 'cancelled')
RETURNING q.id
