-- The calls of one turn of the user's own, in order, and what became of them.
SELECT c.id, c.name, c.step - 1 AS step, r.question_id, r.action_id,
       CASE WHEN c.state = 'refused' THEN 'failed'
            WHEN r.state = 'asked' THEN q.state::text
            ELSE coalesce(r.state::text, 'requested') END AS state
  FROM tool_calls c
  LEFT JOIN tool_runs r ON r.id = c.id
  LEFT JOIN questions_now q ON q.id = r.question_id
 WHERE c.turn_id = :turn_id AND c.user_id = :user_id
 ORDER BY c.step, c.position
