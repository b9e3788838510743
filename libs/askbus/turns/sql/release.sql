-- Hands a claimed step back, at a drain: the next worker takes it at once.
UPDATE turns SET holder = NULL, lease_until = NULL
 WHERE id = :id AND step = :step AND attempt = :attempt AND state = 'running' AND holder = :holder
RETURNING id
