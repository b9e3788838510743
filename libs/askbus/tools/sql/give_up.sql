-- Ends a call that nobody could run: without a run it gets one that failed; a run whose lease is over ends as failed, or as unknown where
-- it may not be repeated. A run that somebody holds is left to them. No row: there was nothing to end.
WITH call AS (
    SELECT c.*, c.name = ANY (:repeatable::text[]) AS repeatable
      FROM tool_calls c
      JOIN turns t ON t.id = c.turn_id
     WHERE c.id = :id AND c.state = 'requested' AND t.state IN ('running', 'waiting') AND t.step = c.step)
INSERT INTO tool_runs AS r (id, workspace_id, project_id, user_id, turn_id, state, finished_at, result, trace)
SELECT id, workspace_id, project_id, user_id, turn_id, 'failed', coalesce(:now::timestamptz, now()), :results::jsonb -> 'given_up', :trace
  FROM call
    ON CONFLICT (id) DO UPDATE
   SET (state, result) = (SELECT CASE WHEN call.repeatable THEN EXCLUDED.state ELSE 'unknown' END,
                                 CASE WHEN call.repeatable THEN EXCLUDED.result ELSE :results::jsonb -> 'unknown' END
                            FROM call),
       finished_at = EXCLUDED.finished_at, holder = NULL, lease_until = NULL, trace = EXCLUDED.trace
 WHERE r.state = 'started' AND r.lease_until <= EXCLUDED.finished_at
RETURNING id
