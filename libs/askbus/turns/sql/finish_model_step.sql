-- Records a finished model call: its step, its message and the calls that it asks for; without any, the turn is completed, unless the model
-- is asked once more (:nudged). With an error code the turn ends as failed by it.
-- An answer that claims to have changed something (:claims), while all that its turn proposed is still pending, is marked with that.
-- Its numbers without a source (:ungrounded) are kept with it.
-- Guarded by step, attempt and state, so a stale or stopped worker records nothing. No row: it was one.
WITH thread AS (SELECT id, revision FROM threads WHERE id = (SELECT thread_id FROM turns WHERE id = :id) FOR UPDATE),
asked AS (
    SELECT * FROM jsonb_to_recordset(:calls::jsonb)
        AS c (id uuid, position int, provider_id text, name text, arguments text, refusal text, extra jsonb,
              label text, doing text, may_repeat boolean)),
next AS (
    SELECT (CASE WHEN :error::text IS NOT NULL THEN 'failed' WHEN :nudged OR EXISTS (SELECT FROM asked) THEN 'running'
                 ELSE 'completed' END)::turn_state AS state),
moved AS (
    UPDATE turns t
       SET state = next.state, settled_at = CASE WHEN next.state <> 'running' THEN now() END, error_code = :error,
           step = t.step + 1, holder = NULL, lease_until = NULL, model_calls = t.model_calls + 1,
           active_ms = t.active_ms + extract(epoch FROM now() - t.moved_at) * 1000, moved_at = now(), trace = :trace
      FROM thread, next
     WHERE t.id = :id AND t.thread_id = thread.id AND t.state = 'running' AND t.step = :step AND t.attempt = :attempt
    RETURNING t.*),
stepped AS (
    INSERT INTO steps (turn_id, number, attempt, kind) SELECT id, :step, :attempt, 'model' FROM moved),
spent AS (
    INSERT INTO usage (source_id, step, attempt, kind, outcome, workspace_id, project_id, user_id, thread_id, turn_id, model,
                       input_tokens, cached_tokens, output_tokens, latency_ms)
    SELECT id, :step, :attempt, 'chat', :outcome, workspace_id, project_id, user_id, thread_id, id, :model,
           :input_tokens, :cached_tokens, :output_tokens, :latency_ms
      FROM moved),
counted AS (
    UPDATE threads h SET revision = h.revision + 1, updated_at = now() FROM moved WHERE h.id = moved.thread_id
    RETURNING h.id, h.revision),
said AS (
    INSERT INTO messages (id, thread_id, seq, turn_id, step, role, text, provider_data, model, cut, nudged, ungrounded, unconfirmed)
    SELECT :message_id, counted.id, counted.revision, :id, :step, 'assistant', :text, :provider_data, :model, :cut, :nudged, :ungrounded::jsonb,
           CASE WHEN :claims THEN (SELECT array_agg(a.id ORDER BY a.proposed_at, a.id) FROM actions a WHERE a.turn_id = :id
                                   HAVING bool_and(a.state = 'pending')) END
      FROM counted),
requested AS (
    INSERT INTO tool_calls (id, workspace_id, project_id, user_id, turn_id, step, position, state, provider_id, name, arguments,
                            refusal, extra, label, doing, may_repeat, trace)
    SELECT c.id, m.workspace_id, m.project_id, m.user_id, m.id, m.step, c.position,
           CASE WHEN c.refusal IS NULL THEN 'requested' ELSE 'refused' END, c.provider_id, c.name, c.arguments, c.refusal, c.extra,
           c.label, c.doing, c.may_repeat, :trace
      FROM asked c, moved m)
SELECT state, step FROM moved
