-- Deletes a batch of threads that were not used for as long as they are kept, each once however many instances sweep. One that a model or a
-- tool works for is used.
WITH due AS MATERIALIZED (
    SELECT t.id FROM threads t
     WHERE t.expires_at <= coalesce(:now, now())
       AND NOT EXISTS (SELECT FROM turns o WHERE o.thread_id = t.id AND o.state IN ('queued', 'running'))
     ORDER BY t.expires_at LIMIT :batch
       FOR UPDATE OF t SKIP LOCKED),
gone AS (DELETE FROM threads t USING due WHERE t.id = due.id RETURNING t.*),
audited AS (
    INSERT INTO audit_log (workspace_id, project_id, user_id, via, event, entity, entity_id)
    SELECT workspace_id, project_id, user_id, 'service', 'thread.expired', 'thread', id FROM gone)
SELECT id FROM gone
