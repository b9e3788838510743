-- Expires a batch of open questions whose time is over, each once however many instances sweep.
UPDATE questions q
   SET state = 'expired', settled_at = coalesce(:now, now()), untold = untold + (q.token_id IS NOT NULL)::int
 WHERE q.id IN (SELECT id FROM questions WHERE state = 'open' AND expires_at <= coalesce(:now, now())
                 ORDER BY expires_at LIMIT :batch FOR UPDATE SKIP LOCKED)
RETURNING q.id
