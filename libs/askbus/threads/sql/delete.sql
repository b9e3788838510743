-- Deletes a locked thread; its trigger ends what is at work and keeps what stays. The command's id is the audit's, so that the same command
-- sent again finds what it did. One row comes back: the turns that were at work.
WITH at_work AS (SELECT id FROM turns WHERE thread_id = :id AND state IN ('queued', 'running', 'waiting')),
gone AS (DELETE FROM threads WHERE id = :id RETURNING *),
audited AS (
    INSERT INTO audit_log (id, workspace_id, project_id, user_id, via, via_id, event, entity, entity_id)
    SELECT :command_id, workspace_id, project_id, user_id, :via, :via_id, 'thread.deleted', 'thread', id FROM gone)
SELECT ARRAY(SELECT id FROM at_work) AS ended FROM gone
