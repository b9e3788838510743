-- Deletes a batch of deliveries that were settled long enough ago, with their attempts.
DELETE FROM webhook_deliveries d
 WHERE d.id IN (
       SELECT o.id FROM webhook_deliveries o
        WHERE o.settled_at <= coalesce(:now::timestamptz, now()) - make_interval(secs => :keep)
        ORDER BY o.settled_at LIMIT :batch
          FOR UPDATE SKIP LOCKED)
RETURNING d.id
