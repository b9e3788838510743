-- Expires a batch of standing approvals whose time is over, each once however many instances sweep.
WITH due AS MATERIALIZED (
    SELECT id FROM standing_approvals
     WHERE state = 'active' AND expires_at <= coalesce(:now, now())
     ORDER BY expires_at LIMIT :batch
       FOR UPDATE SKIP LOCKED),
expired AS (
    UPDATE standing_approvals s SET state = 'expired', ended_at = coalesce(:now, now()) FROM due WHERE s.id = due.id
    RETURNING s.*),
audited AS (
    INSERT INTO audit_log (workspace_id, project_id, via, event, entity, entity_id)
    SELECT workspace_id, project_id, 'service', 'standing_approval.expired', 'standing_approval', id FROM expired)
SELECT id FROM expired
