-- Records what a claimed run came to, also when its turn has been stopped since. No row: it is not this worker's any more.
UPDATE tool_runs
   SET state = :state::text::tool_run_state, result = :result, question_id = :question_id, action_id = :action_id,
       finished_at = coalesce(:now::timestamptz, now()), holder = NULL, lease_until = NULL, trace = :trace
 WHERE id = :id AND state = 'started' AND attempt = :attempt AND holder = :claim
RETURNING id
