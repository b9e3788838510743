-- Records what a step's model call cost that came to no recorded answer, once per attempt; what counted as lost is known better now.
INSERT INTO usage (source_id, step, attempt, kind, outcome, workspace_id, project_id, user_id, thread_id, turn_id, model,
                   input_tokens, cached_tokens, output_tokens, latency_ms)
SELECT t.id, :step, :attempt, 'chat', :outcome, t.workspace_id, t.project_id, t.user_id, t.thread_id, t.id, :model,
       :input_tokens, :cached_tokens, :output_tokens, :latency_ms
  FROM turns t
 WHERE t.id = :turn_id
    ON CONFLICT (source_id, step, attempt) DO UPDATE
   SET outcome = EXCLUDED.outcome, model = EXCLUDED.model, input_tokens = EXCLUDED.input_tokens,
       cached_tokens = EXCLUDED.cached_tokens, output_tokens = EXCLUDED.output_tokens, latency_ms = EXCLUDED.latency_ms
 WHERE usage.outcome = 'lost'
