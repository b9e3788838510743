-- Leases deliveries that are due, oldest first: of each webhook as many at a time as it may have, and one alone where attempts fail, so that
-- a dead address holds nobody up. A lease that ran out is due again: its worker died, and whether the request arrived is not known.
WITH due AS MATERIALIZED (
    SELECT d.id
      FROM webhooks w
     CROSS JOIN LATERAL (
           SELECT p.id, p.due_at FROM webhook_deliveries p
            WHERE p.webhook_id = w.id AND p.state = 'pending' AND p.due_at <= now()
            ORDER BY p.due_at
            LIMIT greatest(0, CASE WHEN w.failing_since IS NULL THEN :at_once ELSE 1 END
                              - (SELECT count(*) FROM webhook_deliveries f
                                  WHERE f.webhook_id = w.id AND f.state = 'pending' AND f.leased AND f.due_at > now()))
              FOR UPDATE SKIP LOCKED) d
     WHERE w.state = 'active'
     ORDER BY d.due_at LIMIT :limit),
leased AS (
    UPDATE webhook_deliveries d
       SET leased = true, attempts = d.attempts + 1, due_at = now() + make_interval(secs => :lease)
      FROM due WHERE d.id = due.id
    RETURNING d.*),
begun AS (
    INSERT INTO webhook_attempts (delivery_id, attempt) SELECT id, attempts FROM leased)
SELECT l.*, w.url, w.secret, CASE WHEN w.old_until > now() THEN w.old_secret END AS old_secret
  FROM leased l JOIN webhooks w ON w.id = l.webhook_id
