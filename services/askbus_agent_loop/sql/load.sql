-- Everything that is known of a turn: its row, and what was said in its thread up to it, each message with the calls that it asked for and
-- what they came to. The newest :most messages of earlier turns come along.
SELECT t.id, t.workspace_id, t.project_id, t.user_id, t.thread_id, t.state, t.step, t.attempt, t.model_calls, t.active_ms,
       (SELECT w.model FROM workspaces w WHERE w.id = t.workspace_id) AS model,
       t.principal, t.trace, t.holder, greatest(extract(epoch FROM t.lease_until - now()), 0)::float8 AS lease_left,
       EXISTS (SELECT FROM project_access a WHERE a.user_id = t.user_id AND a.project_id = t.project_id) AS visible,
       EXISTS (SELECT FROM actions a WHERE a.thread_id = t.thread_id) AS proposed,
       (SELECT jsonb_agg(said.message ORDER BY said.queued_at, said.turn_id, said.seq)
          FROM (SELECT o.queued_at, o.id AS turn_id, m.seq,
                       jsonb_build_object(
                           'turn_id', m.turn_id, 'step', m.step, 'role', m.role, 'text', m.text, 'cut', m.cut,
                           'provider_data', m.provider_data, 'at', m.created_at,
                           'calls', (SELECT jsonb_agg(jsonb_build_object(
                                                'id', c.id, 'step', c.step, 'provider_id', c.provider_id, 'name', c.name,
                                                'arguments', c.arguments, 'refusal', c.refusal, 'extra', c.extra, 'run', r.state,
                                                'result', r.result, 'action_id', r.action_id,
                                                'question', CASE WHEN q.id IS NOT NULL THEN jsonb_build_object(
                                                    'id', q.id, 'state', q.state, 'answer', q.answer, 'reason', q.reason) END)
                                            ORDER BY c.position)
                                       FROM tool_calls c
                                       LEFT JOIN tool_runs r ON r.id = c.id
                                       LEFT JOIN questions_now q ON q.id = r.question_id
                                      WHERE c.turn_id = m.turn_id AND c.step = m.step + 1)) AS message
                  FROM turns o
                  JOIN messages m ON m.turn_id = o.id
                 WHERE o.thread_id = t.thread_id AND (o.queued_at, o.id) <= (t.queued_at, t.id)
                 ORDER BY o.queued_at DESC, o.id DESC, m.seq DESC
                 LIMIT :most) said) AS messages
  FROM turns t
 WHERE t.id = :id
