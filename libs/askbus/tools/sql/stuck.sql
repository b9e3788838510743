-- Calls that wait for a machine: requested :stuck seconds ago by a turn that runs, and not begun; or begun, and nobody holds the run.
SELECT c.id, c.turn_id, c.trace
  FROM turns t
  JOIN tool_calls c ON c.turn_id = t.id AND c.step = t.step AND c.state = 'requested'
 WHERE t.state = 'running' AND c.requested_at <= now() - make_interval(secs => :stuck)
   AND NOT EXISTS (SELECT FROM tool_runs r WHERE r.id = c.id)
UNION ALL
SELECT r.id, r.turn_id, c.trace
  FROM tool_runs r
  JOIN tool_calls c ON c.id = r.id
 WHERE r.state = 'started' AND r.lease_until <= now()
 LIMIT :most
