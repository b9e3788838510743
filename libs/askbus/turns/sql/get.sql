-- A turn of the user's own, while they see its project, with its last answer, what it still asks, what it proposed, and what it cost.
SELECT t.*, m.text AS answer, m.cut, m.model, coalesce(m.ungrounded, '[]') AS ungrounded,
       (SELECT r.id FROM turns r WHERE r.retry_of = coalesce(t.retry_of, t.id) AND r.queued_at > t.queued_at
         ORDER BY r.queued_at DESC LIMIT 1) AS replaced_by,
       t.settled_at IS NOT NULL
       AND NOT EXISTS (SELECT FROM turns r WHERE r.retry_of = coalesce(t.retry_of, t.id) AND r.queued_at > t.queued_at)
       AND (t.state <> 'completed'
            OR NOT EXISTS (SELECT FROM turns l JOIN turns asked ON asked.id = coalesce(t.retry_of, t.id)
                            WHERE l.thread_id = t.thread_id AND l.retry_of IS NULL
                              AND (l.queued_at, l.id) > (asked.queued_at, asked.id)))
       AND NOT EXISTS (SELECT FROM tool_calls b JOIN tool_runs s ON s.id = b.id WHERE b.turn_id = t.id AND NOT b.may_repeat) AS retry,
       ARRAY(SELECT q.id FROM questions q WHERE q.turn_id = t.id AND q.state = 'open' ORDER BY q.id) AS questions,
       ARRAY(SELECT a.id FROM actions a WHERE a.thread_id = t.thread_id AND a.turn_id = t.id ORDER BY a.id) AS actions,
       coalesce((SELECT jsonb_agg(jsonb_build_object(
                            'id', c.id, 'name', c.name, 'label', c.label, 'doing', c.doing, 'state', c.state, 'retry', c.retry,
                            'question_id', c.question_id, 'action_id', c.action_id) ORDER BY c.step, c.position)
                   FROM shown_calls c WHERE c.turn_id = t.id), '[]') AS work,
       (SELECT jsonb_build_object(
                   'calls', count(*), 'uncounted', count(*) FILTER (WHERE u.input_tokens IS NULL),
                   'input_tokens', coalesce(sum(u.input_tokens), 0), 'cached_tokens', coalesce(sum(u.cached_tokens), 0),
                   'output_tokens', coalesce(sum(u.output_tokens), 0), 'latency_ms', coalesce(sum(u.latency_ms), 0))
          FROM usage u WHERE u.thread_id = t.thread_id AND u.turn_id = t.id) AS usage
  FROM turns t
  JOIN project_access p ON p.project_id = t.project_id AND p.user_id = t.user_id
  LEFT JOIN LATERAL (SELECT text, cut, model, m.ungrounded FROM messages m WHERE m.turn_id = t.id AND m.role = 'assistant'
                      ORDER BY step DESC LIMIT 1) m ON true
 WHERE t.id = :id AND t.user_id = :user_id AND t.workspace_id = :workspace_id
   AND (:projects::uuid[] IS NULL OR t.project_id = ANY (:projects::uuid[]))
