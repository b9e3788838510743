-- How many commits wait for another one that notifies: its lock, of a database named 0, is held until its commit is on disk.
SELECT count(*)::int AS commits
  FROM pg_locks
 WHERE locktype = 'object' AND classid = 'pg_catalog.pg_database'::regclass AND objid = 0 AND NOT granted
