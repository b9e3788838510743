-- Marks a batch of sessions whose time is over, each once however many instances sweep; they stopped working at that time.
WITH due AS MATERIALIZED (
    SELECT id FROM sessions
     WHERE state = 'active' AND expires_at <= coalesce(:now, now())
     ORDER BY expires_at LIMIT :batch
       FOR UPDATE SKIP LOCKED)
UPDATE sessions t SET state = 'expired' FROM due WHERE t.id = due.id
RETURNING t.id
