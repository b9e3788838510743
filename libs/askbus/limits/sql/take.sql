-- Takes as many permits as there are, `most` at most; where there are fewer than `least`, none. One row, one lock, the database's clock.
-- A bucket that would be full only a minute after an empty one was emptied before that clock was set back: it is empty, and no more.
INSERT INTO rate_limits AS r (bucket, key, full_at)
VALUES (:bucket, :key, coalesce(:now::timestamptz, now()) + :most::bigint * :cost::bigint * interval '1 microsecond')
ON CONFLICT (bucket, key) DO UPDATE SET full_at = (
    SELECT b.base + CASE WHEN b.there >= :least::bigint THEN least(b.there, :most) ELSE 0 END * :cost * interval '1 microsecond'
      FROM (SELECT a.base,
                   (:room::bigint - (extract(epoch FROM a.base - coalesce(:now, now())) * 1000000)::bigint) / :cost AS there
              FROM (SELECT CASE WHEN r.full_at > coalesce(:now, now()) + :room * interval '1 microsecond' + interval '1 minute'
                                THEN coalesce(:now, now()) + :room * interval '1 microsecond'
                                ELSE greatest(r.full_at, coalesce(:now, now())) END AS base) a) b)
RETURNING CASE WHEN old.full_at > coalesce(:now, now()) + :room * interval '1 microsecond' + interval '1 minute' THEN 0
               ELSE (extract(epoch FROM new.full_at - greatest(old.full_at, coalesce(:now, now()))) * 1000000)::bigint / :cost END AS taken,
          new.full_at + (:least * :cost - :room) * interval '1 microsecond' - coalesce(:now, now()) AS wait
