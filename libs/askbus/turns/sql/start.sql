-- Appends the user's message and queues its turn; the thread is locked. Ends what the message supersedes or interrupts (C6).
-- The row that comes back is the turn (the first one, where this client message id was sent before), or none where the thread is busy
-- and the message asked to be rejected then.
-- A turn's place in its thread is given here, under the lock and behind all that are there: a transaction's own now() is older than that, and
-- a turn that came later but stood earlier would keep the one at work from going on, and be kept from starting by it, for ever.
WITH existing AS (SELECT * FROM turns WHERE thread_id = :thread_id AND client_message_id = :client_message_id),
busy AS (SELECT id FROM turns WHERE thread_id = :thread_id AND state IN ('queued', 'running')),
ended AS (
    UPDATE turns
       SET state = 'cancelled', cancel_reason = (CASE WHEN state = 'waiting' THEN 'superseded' ELSE 'interrupted' END)::cancel_reason,
           superseded_by = :id, settled_at = now(), moved_at = now(), holder = NULL, lease_until = NULL, trace = :trace
     WHERE thread_id = :thread_id AND NOT EXISTS (SELECT FROM existing)
       AND (state = 'waiting' OR (state IN ('queued', 'running') AND :overlap::text = 'interrupt'))
    RETURNING id),
thread AS (
    UPDATE threads
       SET revision = revision + 1, updated_at = now(),
           title = CASE WHEN title = '' THEN :title ELSE title END, trace = :trace
     WHERE id = :thread_id AND NOT EXISTS (SELECT FROM existing)
       AND NOT (:overlap::text = 'reject' AND EXISTS (SELECT FROM busy))
    RETURNING id, workspace_id, project_id, user_id, revision, revision - measured AS unmeasured),
place AS (
    SELECT greatest(clock_timestamp(), max(queued_at) + interval '1 microsecond') AS at FROM turns WHERE thread_id = :thread_id),
made AS (
    INSERT INTO turns (id, workspace_id, project_id, user_id, thread_id, client_message_id, queued_at, principal, context, instructions, trace)
    SELECT :id, workspace_id, project_id, user_id, id, :client_message_id, place.at, :principal, :context::jsonb, :instructions::text, :trace FROM thread, place
    RETURNING *),
said AS (
    INSERT INTO messages (id, thread_id, seq, turn_id, role, text, attachments, created_at)
    SELECT :message_id, thread.id, thread.revision, made.id, 'user', :text, :attachments::uuid[], made.queued_at FROM thread, made)
SELECT m.*, ARRAY(SELECT id FROM ended) AS ended, thread.unmeasured FROM made m, thread
UNION ALL
SELECT e.*, '{}', 0 FROM existing e
