-- Begins a new lineage: what was logged before means nothing in it, clients start over, relays start here.
WITH begun AS (UPDATE feed SET epoch = :epoch, pruned = '0' RETURNING epoch),
forgotten AS (DELETE FROM change_log),
moved AS (UPDATE relays SET cursor = pg_current_snapshot()::text, holder = NULL, lease_until = NULL)
SELECT epoch FROM begun
