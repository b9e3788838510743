-- The parts of the log in which nothing was written for :keep seconds by the clock: the next ones of the ring.
SELECT p AS part
  FROM generate_series(0, 7) p, LATERAL (SELECT extract(epoch FROM now())::bigint / 14400 AS slot) c
 WHERE ((c.slot - p) % 8 - 1) * 14400 >= :keep::bigint
