-- Takes a turn's next step for `:lease` seconds, unless somebody holds it or an earlier turn of its thread is still open.
-- Whoever held it and let its lease run out may have asked the model: that call counts as lost.
-- One row comes back: the turn as it stands, whether this call took it, and else who holds it for how many seconds more.
WITH current AS (SELECT * FROM turns WHERE id = :id FOR UPDATE),
moved AS (
    UPDATE turns t
       SET state = 'running', step = :step, attempt = t.attempt + 1, holder = :holder,
           lease_until = now() + make_interval(secs => :lease), moved_at = now(),
           active_ms = t.active_ms + CASE WHEN t.state = 'running' THEN extract(epoch FROM now() - t.moved_at) * 1000 ELSE 0 END
      FROM current
     WHERE t.id = current.id AND current.state IN ('queued', 'running', 'waiting') AND current.step = :from_step
       AND (current.lease_until IS NULL OR current.lease_until < now())
       AND NOT EXISTS (SELECT FROM turns o
                        WHERE o.thread_id = t.thread_id AND o.state IN ('queued', 'running', 'waiting')
                          AND (o.queued_at, o.id) < (t.queued_at, t.id))
    RETURNING t.*),
lost AS (
    INSERT INTO usage (source_id, step, attempt, kind, outcome, workspace_id, project_id, user_id, thread_id, turn_id)
    SELECT m.id, c.step, c.attempt, 'chat', 'lost', m.workspace_id, m.project_id, m.user_id, m.thread_id, m.id
      FROM moved m, current c
     WHERE c.holder IS NOT NULL
        ON CONFLICT DO NOTHING)
SELECT attempt, step, state, true AS moved, holder, 0::float8 AS lease_left, active_ms FROM moved
UNION ALL
SELECT attempt, step, state, false, holder, greatest(extract(epoch FROM lease_until - now()), 0)::float8, active_ms
  FROM current WHERE NOT EXISTS (SELECT FROM moved)
