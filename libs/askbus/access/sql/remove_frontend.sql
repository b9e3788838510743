-- Takes a front end's registration back. No row: there was none of that name.
WITH gone AS (DELETE FROM frontends WHERE workspace_id = :workspace_id AND name = :name RETURNING id, workspace_id)
INSERT INTO audit_log (workspace_id, via, event, entity, entity_id)
SELECT workspace_id, 'command-line', 'frontend.removed', 'frontend', id FROM gone
RETURNING entity_id AS id
