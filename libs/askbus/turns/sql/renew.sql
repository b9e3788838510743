-- Keeps a claimed step. No row: it was stopped, or another worker has it.
UPDATE turns SET lease_until = now() + make_interval(secs => :lease)
 WHERE id = :id AND step = :step AND attempt = :attempt AND state = 'running' AND holder = :holder
RETURNING id
