-- Takes up requested undos that have rested too long, each by one instance and not again for as long.
WITH resting AS MATERIALIZED (
    SELECT id FROM undos
     WHERE state = 'requested' AND greatest(requested_at, woken_at) < now() - make_interval(secs => :rested)
     ORDER BY requested_at LIMIT :batch
       FOR UPDATE SKIP LOCKED)
UPDATE undos r SET woken_at = now() FROM resting WHERE r.id = resting.id
RETURNING r.id
