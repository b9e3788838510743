-- Parks a turn until a person answers: from now on it costs this row. Guarded by step and attempt; nobody works on it.
UPDATE turns
   SET state = 'waiting', active_ms = active_ms + extract(epoch FROM now() - moved_at) * 1000, moved_at = now()
 WHERE id = :id AND state = 'running' AND step = :step AND attempt = :attempt AND holder IS NULL
RETURNING id
