-- Copies what the ledger says became of a confirmed action; later copies of the same change nothing.
WITH moved AS (
    UPDATE actions a
       SET state = :state, outcome = :outcome, settled_at = coalesce(:now, now()),
           untold = a.untold + (a.token_id IS NOT NULL AND a.turn_id IS NULL)::int, trace = coalesce(:trace, a.trace)
     WHERE a.id = :id AND a.state = 'confirmed'
    RETURNING a.*)
INSERT INTO audit_log (workspace_id, project_id, user_id, via, event, entity, entity_id)
SELECT workspace_id, project_id, decided_by, 'service', 'action.' || state::text, 'action', id FROM moved
