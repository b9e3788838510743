-- The tool calls of a turn with what their runs came to: no door shows results.
SELECT c.name, r.state::text AS state, r.attempt, r.result
  FROM tool_calls c
  JOIN tool_runs r ON r.id = c.id
 WHERE c.turn_id = :turn_id
 ORDER BY c.step, c.position
