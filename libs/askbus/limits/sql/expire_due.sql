-- Forgets a batch of buckets that are full: a missing one is as good.
DELETE FROM rate_limits r
 WHERE r.full_at <= coalesce(:now::timestamptz, now())
   AND (r.bucket, r.key) IN (
       SELECT f.bucket, f.key FROM rate_limits f WHERE f.full_at <= coalesce(:now, now()) LIMIT :batch)
