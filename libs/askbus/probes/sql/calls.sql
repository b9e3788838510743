-- The tool calls of a turn as the model wrote them, with what each came to: no door shows either.
SELECT c.name, c.arguments, c.refusal, r.state::text AS state, r.result
  FROM tool_calls c
  LEFT JOIN tool_runs r ON r.id = c.id
 WHERE c.turn_id = :turn_id
 ORDER BY c.step, c.position
