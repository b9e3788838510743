-- What models were used for, and how much: one row for each call of a model by a step, whatever became of it.

ALTER TABLE steps DROP COLUMN model, DROP COLUMN input_tokens, DROP COLUMN output_tokens, DROP COLUMN latency_ms;
COMMENT ON TABLE steps IS 'writer: agent-loop. A finished model call or batch of tool calls; what the model calls cost stands in usage.';

CREATE TABLE usage (
    source_id      uuid NOT NULL,
    step           integer NOT NULL DEFAULT 1,
    attempt        integer NOT NULL DEFAULT 1,
    kind           text NOT NULL CHECK (kind IN ('chat', 'image', 'probe')),
    outcome        text NOT NULL CHECK (outcome IN ('done', 'failed', 'cut', 'lost')),
    workspace_id   uuid NOT NULL REFERENCES workspaces ON DELETE CASCADE,
    project_id     uuid NOT NULL,
    user_id        uuid NOT NULL,
    thread_id      uuid,
    turn_id        uuid,
    model          text,
    input_tokens   bigint CHECK (input_tokens >= 0),
    cached_tokens  bigint CHECK (cached_tokens >= 0),
    output_tokens  bigint CHECK (output_tokens >= 0),
    latency_ms     bigint CHECK (latency_ms >= 0),
    at             timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (source_id, step, attempt)
);
CREATE INDEX usage_turn ON usage (thread_id, turn_id);
CREATE INDEX usage_user ON usage (workspace_id, user_id, at);
CREATE INDEX usage_workspace ON usage (workspace_id, at);
COMMENT ON TABLE usage IS 'writer: agent-loop, tool-runner. A use of a model. It outlives its thread, so that sums do not shrink when a conversation is deleted: ids and numbers only.';
COMMENT ON COLUMN usage.source_id IS 'What used it: the turn, the tool call that made a picture, the run of a probe.';
COMMENT ON COLUMN usage.outcome IS 'failed: the provider gave no answer. cut: stopped, out of time, or its answer came too late to count. lost: the worker died.';
COMMENT ON COLUMN usage.input_tokens IS 'As the provider counts, with those of tries that were made again; null where it did not say, as of a call that was cut.';
COMMENT ON COLUMN usage.cached_tokens IS 'How many of the input tokens the provider read from its cache; null where it did not say.';
