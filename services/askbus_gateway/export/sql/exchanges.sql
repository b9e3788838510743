-- Some turns of a thread, after the one given, with everything that was said in each, and of each call what people see.
SELECT o.id, o.state, o.error_code, o.cancel_reason, o.retry_of, o.queued_at, o.settled_at,
       coalesce((
           SELECT jsonb_agg(jsonb_build_object(
                      'id', m.id, 'role', m.role, 'at', m.created_at, 'text', m.text, 'model', m.model, 'cut', m.cut,
                      'ungrounded', coalesce(m.ungrounded, '[]'), 'sent_back', m.nudged AND m.ungrounded IS NOT NULL,
                      'files', coalesce((
                          SELECT jsonb_agg(jsonb_build_object('id', f.id, 'name', f.name, 'media_type', f.media_type, 'size', f.size)
                                           ORDER BY array_position(m.attachments, f.id), f.created_at, f.id)
                            FROM attached_files f
                           WHERE f.thread_id = o.thread_id
                             AND (f.id = ANY (m.attachments)
                                  OR f.id IN (SELECT c.id FROM tool_calls c WHERE c.turn_id = m.turn_id AND c.step = m.step + 1))), '[]'),
                      'activity', coalesce((
                          SELECT jsonb_agg(jsonb_build_object(
                                     'label', c.label, 'state', c.state,
                                     'question', CASE WHEN q.id IS NOT NULL THEN jsonb_build_object(
                                         'id', q.id, 'title', q.title, 'text', q.text, 'options', q.options, 'state', q.state,
                                         'answer', q.answer, 'reason', q.reason, 'asked_at', q.asked_at, 'settled_at', q.settled_at) END,
                                     'action', CASE WHEN a.id IS NOT NULL THEN jsonb_build_object(
                                         'id', a.id, 'headline', a.headline, 'summary', a.summary, 'state', a.state, 'reason', a.reason,
                                         'proposed_at', a.proposed_at, 'decided_at', a.decided_at, 'settled_at', a.settled_at) END)
                                     ORDER BY c.position)
                            FROM shown_calls c
                            LEFT JOIN questions_now q ON q.id = c.question_id
                            LEFT JOIN actions_now a ON a.id = c.action_id
                           WHERE c.turn_id = m.turn_id AND c.step = m.step + 1), '[]'))
                      ORDER BY m.seq)
             FROM messages m WHERE m.turn_id = o.id), '[]') AS messages
  FROM turns o
 WHERE o.thread_id = :id
   AND (:after::uuid IS NULL OR (o.queued_at, o.id) > (SELECT b.queued_at, b.id FROM turns b WHERE b.id = :after))
 ORDER BY o.queued_at, o.id
 LIMIT :limit
