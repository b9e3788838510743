-- The latest messages of a thread of the user's own, turn by turn, with the calls that each asked for and what became of them. An answer
-- that was given anew is left out, as its front end dropped it, and one that went back to the model and was, or is about to be, written
-- once more; what was said to it stands before the one that counts.
SELECT *
  FROM (SELECT m.turn_id, m.step, m.role, m.text, coalesce(m.ungrounded, '[]') AS ungrounded, o.client_message_id, asked.queued_at, asked.id AS asked_id, o.queued_at AS answered_at, m.seq,
               coalesce((
                   SELECT jsonb_agg(jsonb_build_object(
                              'id', c.id, 'name', c.name, 'label', c.label, 'step', m.step,
                              'state', CASE WHEN c.state = 'asked' THEN q.state::text ELSE c.state END,
                              'question_id', c.question_id, 'action_id', c.action_id) ORDER BY c.position)
                     FROM shown_calls c
                     LEFT JOIN questions_now q ON q.id = c.question_id
                    WHERE c.turn_id = m.turn_id AND c.step = m.step + 1), '[]') AS calls
          FROM messages m
          JOIN turns o ON o.id = m.turn_id
          JOIN turns asked ON asked.id = coalesce(o.retry_of, o.id)
         WHERE m.thread_id = :thread_id AND o.user_id = :user_id AND (:turn_id::uuid IS NULL OR m.turn_id = :turn_id)
           AND (m.role = 'user' OR NOT EXISTS (SELECT FROM turns r WHERE r.retry_of = asked.id AND r.queued_at > o.queued_at))
           AND NOT (m.nudged AND m.ungrounded IS NOT NULL
                    AND (o.state IN ('queued', 'running', 'waiting')
                         OR EXISTS (SELECT FROM messages l WHERE l.turn_id = m.turn_id AND l.step > m.step)))
         ORDER BY asked.queued_at DESC, asked.id DESC, o.queued_at DESC, m.seq DESC
         LIMIT :most) latest
 ORDER BY queued_at, asked_id, answered_at, seq
