-- Keeps a claimed run for :lease seconds more, and says whether its turn still goes on. No row: it is not this worker's any more.
UPDATE tool_runs r
   SET lease_until = coalesce(:now::timestamptz, now()) + make_interval(secs => :lease)
  FROM turns t
 WHERE r.id = :id AND t.id = r.turn_id AND r.state = 'started' AND r.attempt = :attempt AND r.holder = :claim
RETURNING t.state IN ('running', 'waiting') AS live
