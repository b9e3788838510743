-- Deletes a batch of stragglers: what every relay has passed and is older than :keep seconds, in parts that hold younger rows too.
WITH gone AS (
    DELETE FROM change_log
     WHERE at < now() - make_interval(secs => :keep)
       AND xid < (SELECT min(pg_snapshot_xmin(cursor::pg_snapshot)::text::bigint)::text::xid8 FROM relays)
       AND (part, seq) IN (SELECT part, seq FROM change_log WHERE at < now() - make_interval(secs => :keep) LIMIT :batch)
    RETURNING xid)
UPDATE feed SET pruned = greatest(pruned, (SELECT max(xid) FROM gone))
 WHERE EXISTS (SELECT FROM gone)
RETURNING (SELECT count(*) FROM gone) AS pruned_rows
