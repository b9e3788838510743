-- What was proposed in turns of a thread that are not kept any more.
SELECT a.id, a.headline, a.summary, a.state, a.reason, a.proposed_at, a.decided_at, a.settled_at
  FROM actions_now a
 WHERE a.thread_id = :id AND NOT EXISTS (SELECT FROM turns t WHERE t.id = a.turn_id)
 ORDER BY a.proposed_at, a.id
 LIMIT 1000
