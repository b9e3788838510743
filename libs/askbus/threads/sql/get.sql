-- A thread of the user's own, while they see its project, with its messages turn by turn; the answers to one message stand together.
SELECT t.*,
       ARRAY(SELECT id FROM turns o WHERE o.thread_id = t.id AND o.state IN ('queued', 'running', 'waiting') ORDER BY o.queued_at, o.id)
           AS open_turns,
       (SELECT jsonb_build_object(
                   'calls', count(*), 'uncounted', count(*) FILTER (WHERE u.input_tokens IS NULL),
                   'input_tokens', coalesce(sum(u.input_tokens), 0), 'cached_tokens', coalesce(sum(u.cached_tokens), 0),
                   'output_tokens', coalesce(sum(u.output_tokens), 0), 'latency_ms', coalesce(sum(u.latency_ms), 0))
          FROM usage u WHERE u.thread_id = t.id) AS usage,
       coalesce((
           SELECT jsonb_agg(jsonb_build_object(
                      'id', m.id, 'turn_id', m.turn_id, 'step', m.step, 'role', m.role, 'text', m.text, 'model', m.model, 'cut', m.cut,
                      'unconfirmed', coalesce(to_jsonb(m.unconfirmed), '[]'),
                      'ungrounded', coalesce(m.ungrounded, '[]'), 'sent_back', m.nudged AND m.ungrounded IS NOT NULL,
                      'created_at', m.created_at,
                      'replaced', m.role = 'assistant' AND EXISTS (SELECT FROM turns r WHERE r.retry_of = asked.id AND r.queued_at > o.queued_at),
                      'attachments', coalesce((
                          SELECT jsonb_agg(jsonb_build_object(
                                     'id', f.id, 'kind', f.kind, 'media_type', f.media_type, 'name', f.name, 'size', f.size)
                                           ORDER BY array_position(m.attachments, f.id), f.created_at, f.id)
                            FROM attached_files f
                           WHERE f.thread_id = t.id
                             AND (f.id = ANY (m.attachments)
                                  OR f.id IN (SELECT c.id FROM tool_calls c WHERE c.turn_id = m.turn_id AND c.step = m.step + 1))), '[]'),
                      'calls', coalesce((
                          SELECT jsonb_agg(jsonb_build_object(
                                     'id', c.id, 'name', c.name, 'label', c.label, 'doing', c.doing, 'state', c.state, 'retry', c.retry,
                                     'question_id', c.question_id, 'action_id', c.action_id) ORDER BY c.position)
                            FROM shown_calls c
                           WHERE c.turn_id = m.turn_id AND c.step = m.step + 1), '[]'))
                      ORDER BY asked.queued_at, asked.id, o.queued_at, m.seq)
             FROM messages m
             JOIN turns o ON o.id = m.turn_id
             JOIN turns asked ON asked.id = coalesce(o.retry_of, o.id)
            WHERE m.thread_id = t.id), '[]') AS messages
  FROM threads t
  JOIN project_access a ON a.project_id = t.project_id AND a.user_id = t.user_id
 WHERE t.id = :id AND t.user_id = :user_id AND t.workspace_id = :workspace_id
   AND (:projects::uuid[] IS NULL OR t.project_id = ANY (:projects::uuid[]))
   AND (t.expires_at IS NULL OR t.expires_at > now())
