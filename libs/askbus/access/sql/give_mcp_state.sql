-- Remembers a requestState that a caller is given.
INSERT INTO mcp_states (id, hash, token_id, question_id, request, expires_at)
VALUES (:id, :hash, :token_id, :question_id, :request, coalesce(:now, now()) + make_interval(secs => :seconds))
