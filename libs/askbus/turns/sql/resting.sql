-- Turns that wait for a machine and did not move for :stuck seconds: nobody holds them, no earlier turn of their thread is open, no tool of
-- theirs is under way, unless their active time is over, and if they wait for a person, the person has answered. Each is to be woken again.
SELECT t.id, t.workspace_id, t.project_id, t.user_id, t.state, t.trace
  FROM turns t
 WHERE t.state IN ('queued', 'running', 'waiting') AND t.moved_at < now() - make_interval(secs => :stuck)
   AND (t.lease_until IS NULL OR t.lease_until < now())
   AND NOT EXISTS (SELECT FROM turns o WHERE o.thread_id = t.thread_id AND o.state IN ('queued', 'running', 'waiting')
                                         AND (o.queued_at, o.id) < (t.queued_at, t.id))
   AND ((t.state = 'running' AND t.active_ms + extract(epoch FROM now() - t.moved_at) * 1000 >= :turn_ms)
        OR NOT EXISTS (SELECT FROM tool_calls c
                         LEFT JOIN tool_runs r ON r.id = c.id
                         LEFT JOIN questions q ON q.id = r.question_id
                        WHERE c.turn_id = t.id AND c.step = t.step AND c.state = 'requested'
                          AND (r.id IS NULL OR r.state = 'started'
                               OR (t.state = 'waiting' AND r.state = 'asked' AND q.state = 'open'))))
 ORDER BY t.moved_at LIMIT :batch
