-- The latest messages of a thread of the user's own, turn by turn, with the calls that each asked for and what became of them.
SELECT *
  FROM (SELECT m.turn_id, m.step, m.role, m.text, o.client_message_id, o.queued_at, m.seq,
               coalesce((
                   SELECT jsonb_agg(jsonb_build_object(
                              'id', c.id, 'name', c.name, 'step', m.step,
                              'state', CASE WHEN c.state = 'refused' THEN 'failed'
                                            WHEN r.state = 'asked' THEN q.state::text
                                            ELSE coalesce(r.state::text, 'requested') END,
                              'question_id', r.question_id, 'action_id', r.action_id) ORDER BY c.position)
                     FROM tool_calls c
                     LEFT JOIN tool_runs r ON r.id = c.id
                     LEFT JOIN questions_now q ON q.id = r.question_id
                    WHERE c.turn_id = m.turn_id AND c.step = m.step + 1), '[]') AS calls
          FROM messages m JOIN turns o ON o.id = m.turn_id
         WHERE m.thread_id = :thread_id AND o.user_id = :user_id AND (:turn_id::uuid IS NULL OR m.turn_id = :turn_id)
         ORDER BY o.queued_at DESC, o.id DESC, m.seq DESC
         LIMIT :most) latest
 ORDER BY queued_at, turn_id, seq
