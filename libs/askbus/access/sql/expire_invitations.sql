-- Marks a batch of invitations whose time is over, each once however many instances sweep; they stopped working at that time.
WITH due AS MATERIALIZED (
    SELECT id FROM invitations
     WHERE state = 'pending' AND expires_at <= coalesce(:now, now())
     ORDER BY expires_at LIMIT :batch
       FOR UPDATE SKIP LOCKED),
expired AS (
    UPDATE invitations i SET state = 'expired', settled_at = i.expires_at FROM due WHERE i.id = due.id
    RETURNING i.id, i.workspace_id),
audited AS (
    INSERT INTO audit_log (workspace_id, via, event, entity, entity_id)
    SELECT workspace_id, 'service', 'invitation.expired', 'invitation', id FROM expired)
SELECT id FROM expired
