-- Expires a batch of pending actions whose time is over, each once however many instances sweep.
WITH due AS MATERIALIZED (
    SELECT id FROM actions
     WHERE state = 'pending' AND expires_at <= coalesce(:now, now())
     ORDER BY expires_at LIMIT :batch
       FOR UPDATE SKIP LOCKED),
expired AS (
    UPDATE actions a
       SET state = 'expired', settled_at = coalesce(:now, now()),
           untold = a.untold + (a.token_id IS NOT NULL AND a.turn_id IS NULL)::int
      FROM due
     WHERE a.id = due.id
    RETURNING a.*),
audited AS (
    INSERT INTO audit_log (workspace_id, project_id, via, event, entity, entity_id)
    SELECT workspace_id, project_id, 'service', 'action.expired', 'action', id FROM expired)
SELECT id FROM expired
