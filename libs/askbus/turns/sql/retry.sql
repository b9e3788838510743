-- Queues a turn that answers the message of the turn :again anew; the thread is locked. Ends what a message would end (C6).
-- One row comes back, with its verdict: `queue` and the new turn; `done` and the turn that this client message id queued before, or the last
-- one that repeats the same message already; or :again as it stands and why not: `at_work`, `not_last` (only the last answer is made anew),
-- `busy` (another turn of the thread is at work, and this one asked to be rejected then).
WITH existing AS (SELECT id FROM turns WHERE thread_id = :thread_id AND client_message_id = :client_message_id),
again AS (SELECT t.*, coalesce(t.retry_of, t.id) AS message_of FROM turns t WHERE t.id = :again AND t.thread_id = :thread_id),
latest AS (
    SELECT t.id FROM turns t, again a WHERE t.id = a.message_of OR t.retry_of = a.message_of
     ORDER BY t.queued_at DESC LIMIT 1),
verdict AS (
    SELECT CASE WHEN EXISTS (SELECT FROM existing) OR latest.id <> a.id THEN 'done'
                WHEN a.state IN ('queued', 'running', 'waiting') THEN 'at_work'
                WHEN a.state = 'completed' AND EXISTS (
                         SELECT FROM turns l JOIN turns asked ON asked.id = a.message_of
                          WHERE l.thread_id = a.thread_id AND l.retry_of IS NULL
                            AND (l.queued_at, l.id) > (asked.queued_at, asked.id)) THEN 'not_last'
                WHEN :overlap::text = 'reject' AND EXISTS (
                         SELECT FROM turns o WHERE o.thread_id = a.thread_id AND o.state IN ('queued', 'running')) THEN 'busy'
                ELSE 'queue' END AS word
      FROM again a, latest),
ended AS (
    UPDATE turns
       SET state = 'cancelled', cancel_reason = (CASE WHEN state = 'waiting' THEN 'superseded' ELSE 'interrupted' END)::cancel_reason,
           superseded_by = :id, settled_at = now(), moved_at = now(), holder = NULL, lease_until = NULL, trace = :trace
     WHERE thread_id = :thread_id AND (SELECT word FROM verdict) = 'queue'
       AND (state = 'waiting' OR (state IN ('queued', 'running') AND :overlap::text = 'interrupt'))
    RETURNING id),
thread AS (
    UPDATE threads SET updated_at = now(), trace = :trace FROM verdict WHERE id = :thread_id AND word = 'queue'
    RETURNING id),
made AS (
    INSERT INTO turns (id, workspace_id, project_id, user_id, thread_id, client_message_id, queued_at, principal, context, instructions,
                       retry_of, trace)
    SELECT :id, a.workspace_id, a.project_id, a.user_id, a.thread_id, :client_message_id,
           (SELECT greatest(clock_timestamp(), max(queued_at) + interval '1 microsecond') FROM turns WHERE thread_id = :thread_id),
           :principal, a.context, a.instructions, a.message_of, :trace
      FROM again a, thread
    RETURNING *),
audited AS (
    INSERT INTO audit_log (workspace_id, project_id, user_id, via, via_id, event, entity, entity_id, part_id)
    SELECT workspace_id, project_id, user_id, principal ->> 'kind', (principal ->> 'id')::uuid, 'turn.retried', 'turn', retry_of, id
      FROM made)
SELECT m.*, 'queue' AS verdict, ARRAY(SELECT id FROM ended) AS ended FROM made m
UNION ALL
SELECT t.*, v.word, '{}'
  FROM verdict v
  JOIN turns t ON t.id = CASE WHEN v.word = 'done' THEN coalesce((SELECT id FROM existing), (SELECT id FROM latest)) ELSE :again END
 WHERE v.word <> 'queue'
