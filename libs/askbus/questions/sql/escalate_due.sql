-- Tells a batch of open questions whose escalation is due, each once however many instances sweep.
WITH due AS MATERIALIZED (
    SELECT id FROM questions
     WHERE state = 'open' AND escalate_at IS NOT NULL AND NOT escalated
       AND escalate_at <= coalesce(:now, now()) AND expires_at > coalesce(:now, now())
     ORDER BY escalate_at LIMIT :batch
       FOR UPDATE SKIP LOCKED)
UPDATE questions q SET escalated = true
  FROM due
 WHERE q.id = due.id
RETURNING q.id
