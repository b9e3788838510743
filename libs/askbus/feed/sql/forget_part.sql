-- Remembers the newest transaction of a part that is about to be emptied. No row: a relay has not passed all of it, some of it is younger
-- than :keep seconds, or it is empty.
WITH old AS (SELECT max(xid) AS newest, max(at) AS latest, count(*) AS rows FROM change_log WHERE part = :part::smallint)
UPDATE feed SET pruned = greatest(pruned, old.newest)
  FROM old
 WHERE old.rows > 0 AND old.latest < now() - make_interval(secs => :keep)
   AND old.newest < (SELECT min(pg_snapshot_xmin(cursor::pg_snapshot)::text::bigint)::text::xid8 FROM relays)
RETURNING old.rows
