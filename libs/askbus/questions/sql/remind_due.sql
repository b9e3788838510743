-- Tells a batch of open questions whose reminder is due, each once however many instances sweep.
WITH due AS MATERIALIZED (
    SELECT id FROM questions
     WHERE state = 'open' AND remind_at IS NOT NULL AND NOT reminded
       AND remind_at <= coalesce(:now, now()) AND expires_at > coalesce(:now, now())
     ORDER BY remind_at LIMIT :batch
       FOR UPDATE SKIP LOCKED)
UPDATE questions q SET reminded = true
  FROM due
 WHERE q.id = due.id
RETURNING q.id
