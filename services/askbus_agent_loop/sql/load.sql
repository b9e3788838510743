-- Everything that is known of a turn: its row, what its workspace and its user chose, and what was said in its thread up to it, each message
-- with the calls that it asked for and what they came to.
-- An exchange is a turn's message with its answers; where turns repeated it, the answers of the last one that was there when this one was
-- queued, and of no other. The newest :exchanges of them come along, whole, the turn's own among them.
SELECT t.id, t.workspace_id, t.project_id, t.user_id, t.thread_id, asked.id AS message_of, t.state, t.step, t.attempt, t.model_calls,
       t.active_ms + CASE WHEN t.state = 'running' THEN (extract(epoch FROM now() - t.moved_at) * 1000)::bigint ELSE 0 END AS active_ms,
       (SELECT w.model FROM workspaces w WHERE w.id = t.workspace_id) AS model,
       (SELECT w.instructions FROM workspaces w WHERE w.id = t.workspace_id) AS workspace_instructions, t.instructions, t.context,
       (SELECT w.number_check = 'ask_again' FROM workspaces w WHERE w.id = t.workspace_id) AS asks_again,
       coalesce((SELECT u.time_zone FROM users u WHERE u.id = t.user_id),
                (SELECT w.time_zone FROM workspaces w WHERE w.id = t.workspace_id), :time_zone) AS time_zone,
       t.principal, t.trace, t.holder, greatest(extract(epoch FROM t.lease_until - now()), 0)::float8 AS lease_left,
       EXISTS (SELECT FROM project_access a WHERE a.user_id = t.user_id AND a.project_id = t.project_id) AS visible,
       EXISTS (SELECT FROM actions a WHERE a.thread_id = t.thread_id) AS proposed,
       (SELECT jsonb_agg(said.message ORDER BY said.queued_at, said.id, said.seq)
          FROM (SELECT o.queued_at, o.id, m.seq,
                       jsonb_build_object(
                           'turn_id', m.turn_id, 'step', m.step, 'role', m.role, 'text', m.text, 'cut', m.cut, 'nudged', m.nudged,
                           'ungrounded', coalesce(m.ungrounded, '[]'),
                           'attachments', m.attachments, 'provider_data', m.provider_data, 'at', m.created_at,
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
                  FROM (SELECT e.id, e.queued_at,
                               coalesce((SELECT r.id FROM turns r
                                          WHERE r.retry_of = e.id AND r.queued_at <= t.queued_at
                                          ORDER BY r.queued_at DESC LIMIT 1), e.id) AS answered_by
                          FROM turns e
                         WHERE e.thread_id = t.thread_id AND e.retry_of IS NULL AND (e.queued_at, e.id) <= (asked.queued_at, asked.id)
                         ORDER BY e.queued_at DESC, e.id DESC
                         LIMIT :exchanges) o
                  JOIN messages m ON m.turn_id = ANY (ARRAY[o.id, o.answered_by]) AND (m.step IS NULL OR m.turn_id = o.answered_by)) said)
           AS messages
  FROM turns t
  JOIN turns asked ON asked.id = coalesce(t.retry_of, t.id)
 WHERE t.id = :id
