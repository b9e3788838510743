-- Claims a call for :lease seconds: its first run, or one whose lease is over. Whoever comes second learns who has it, and for how long.
-- A run whose lease is over and that may not go on (not repeatable, its turn has ended, begun :most times) is ended here instead.
-- One row comes back: the call, and its run as it stands now (none where the turn has ended before it began). No row: no such call.
WITH call AS (
    SELECT c.id, c.workspace_id, c.project_id, c.user_id, c.turn_id, c.name, c.arguments, c.trace, t.thread_id, t.principal,
           t.state IN ('running', 'waiting') AND t.step = c.step AS live,
           c.name = ANY (:repeatable::text[]) AS repeatable,
           EXISTS (SELECT FROM project_access a WHERE a.user_id = c.user_id AND a.project_id = c.project_id) AS visible,
           coalesce(:now::timestamptz, now()) AS at
      FROM tool_calls c
      JOIN turns t ON t.id = c.turn_id
     WHERE c.id = :id AND c.state = 'requested'),
run AS (
    INSERT INTO tool_runs AS r (id, workspace_id, project_id, user_id, turn_id, holder, lease_until, started_at, trace)
    SELECT id, workspace_id, project_id, user_id, turn_id, :claim, at + make_interval(secs => :lease), at, :trace
      FROM call
     WHERE live OR EXISTS (SELECT FROM tool_runs o WHERE o.id = call.id)
        ON CONFLICT (id) DO UPDATE
       SET (state, attempt, holder, lease_until, finished_at, result) = (
           SELECT (CASE v.verdict WHEN 'unknown' THEN 'unknown' WHEN 'stopped' THEN 'failed' WHEN 'given_up' THEN 'failed'
                                  ELSE r.state::text END)::tool_run_state,
                  r.attempt + (v.verdict = 'take')::int,
                  CASE v.verdict WHEN 'keep' THEN r.holder WHEN 'take' THEN EXCLUDED.holder END,
                  CASE v.verdict WHEN 'keep' THEN r.lease_until WHEN 'take' THEN EXCLUDED.lease_until END,
                  CASE v.verdict WHEN 'keep' THEN r.finished_at WHEN 'take' THEN NULL ELSE call.at END,
                  CASE v.verdict WHEN 'keep' THEN r.result WHEN 'take' THEN NULL ELSE :results::jsonb -> v.verdict END
             FROM call
            CROSS JOIN LATERAL (
                  SELECT CASE WHEN r.state <> 'started' OR r.lease_until > call.at THEN 'keep'
                              WHEN NOT call.repeatable THEN 'unknown'
                              WHEN NOT call.live THEN 'stopped'
                              WHEN r.attempt >= :most THEN 'given_up'
                              ELSE 'take' END AS verdict) v)
    RETURNING r.*)
SELECT call.id, call.turn_id, call.thread_id, call.project_id, call.name, call.arguments, call.principal, call.visible, call.trace,
       run.state, run.attempt, coalesce(run.holder = :claim, false) AS mine,
       greatest(extract(epoch FROM run.lease_until - call.at), 0)::float8 AS lease_left
  FROM call
  LEFT JOIN run ON run.id = call.id
