-- Takes up confirmed actions that have rested too long, each by one instance and not again for as long.
WITH resting AS MATERIALIZED (
    SELECT id FROM actions
     WHERE state = 'confirmed' AND greatest(decided_at, woken_at) < now() - make_interval(secs => :rested)
     ORDER BY decided_at LIMIT :batch
       FOR UPDATE SKIP LOCKED)
UPDATE actions r SET woken_at = now() FROM resting WHERE r.id = resting.id
RETURNING r.id
