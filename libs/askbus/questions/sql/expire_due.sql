-- Expires a batch of open questions whose time is over, each once however many instances sweep.
WITH due AS MATERIALIZED (
    SELECT id FROM questions
     WHERE state = 'open' AND expires_at <= coalesce(:now, now())
     ORDER BY expires_at LIMIT :batch
       FOR UPDATE SKIP LOCKED)
UPDATE questions q
   SET state = 'expired', settled_at = coalesce(:now, now()),
       untold = q.untold + (q.token_id IS NOT NULL AND q.turn_id IS NULL)::int
  FROM due
 WHERE q.id = due.id
RETURNING q.id
