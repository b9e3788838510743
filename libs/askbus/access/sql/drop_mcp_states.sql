-- Deletes a batch of requestStates past their time, used or not: whoever shows one is refused all the same.
DELETE FROM mcp_states
 WHERE id IN (SELECT id FROM mcp_states WHERE expires_at <= coalesce(:now, now()) ORDER BY expires_at LIMIT :batch)
RETURNING id
