-- Records what a tool's call cost that used a model itself, once per attempt of its run.
INSERT INTO usage (source_id, step, attempt, kind, outcome, workspace_id, project_id, user_id, thread_id, turn_id, model,
                   input_tokens, cached_tokens, output_tokens, latency_ms)
SELECT c.id, c.step, :attempt, :kind, :outcome, t.workspace_id, t.project_id, t.user_id, t.thread_id, t.id, :model,
       :input_tokens, :cached_tokens, :output_tokens, :latency_ms
  FROM tool_calls c
  JOIN turns t ON t.id = c.turn_id
 WHERE c.id = :call_id
    ON CONFLICT (source_id, step, attempt) DO NOTHING
