-- Registers a front end; one of that name gets another key, and its old one ends.
WITH made AS (
    INSERT INTO frontends (id, workspace_id, name, hash) VALUES (:id, :workspace_id, :name, :hash)
        ON CONFLICT (workspace_id, name) DO UPDATE SET hash = EXCLUDED.hash
    RETURNING id, workspace_id)
INSERT INTO audit_log (workspace_id, via, event, entity, entity_id)
SELECT workspace_id, 'command-line', 'frontend.registered', 'frontend', id FROM made
RETURNING entity_id AS id
