-- Deletes a batch of what every relay has passed and is older than :keep seconds, and remembers the newest transaction that is gone.
WITH gone AS (
    DELETE FROM change_log
     WHERE seq IN (SELECT seq FROM change_log
                    WHERE at < now() - make_interval(secs => :keep)
                      AND xid < (SELECT min(pg_snapshot_xmin(cursor::pg_snapshot)::text::bigint)::text::xid8 FROM relays)
                    ORDER BY seq LIMIT :batch)
    RETURNING xid)
UPDATE feed SET pruned = greatest(pruned, (SELECT max(xid) FROM gone))
 WHERE EXISTS (SELECT FROM gone)
RETURNING (SELECT count(*) FROM gone) AS pruned_rows
