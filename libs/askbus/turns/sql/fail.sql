-- Ends a turn as failed, whoever works on it, unless it is over or has gone past `:step` (null: whatever its step).
WITH moved AS (
    UPDATE turns
       SET state = 'failed', error_code = :code, settled_at = now(), moved_at = now(), holder = NULL, lease_until = NULL,
           trace = coalesce(:trace, trace)
     WHERE id = :id AND state IN ('queued', 'running', 'waiting')
       AND (:step::int IS NULL OR (step = :step AND attempt = :attempt))
    RETURNING id)
SELECT id FROM moved
