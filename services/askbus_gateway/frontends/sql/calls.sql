-- The calls of one turn of the user's own, in order, and what became of them.
SELECT c.id, c.name, c.label, c.step - 1 AS step, c.question_id, c.action_id,
       CASE WHEN c.state = 'asked' THEN q.state::text ELSE c.state END AS state
  FROM turns t
  JOIN shown_calls c ON c.turn_id = t.id
  LEFT JOIN questions_now q ON q.id = c.question_id
 WHERE t.id = :turn_id AND t.user_id = :user_id
 ORDER BY c.step, c.position
