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

-- What people see of tool calls: words that stand beside the tool, kept with the call so that they stay when the tool is gone.

ALTER TABLE tool_calls
    ADD COLUMN label text CHECK (length(label) BETWEEN 1 AND 80),
    ADD COLUMN doing text CHECK (length(doing) BETWEEN 1 AND 80),
    ADD COLUMN may_repeat boolean NOT NULL DEFAULT false,
    ADD CHECK ((label IS NULL) = (doing IS NULL));
COMMENT ON COLUMN tool_calls.label IS 'What the tool says of itself, when it is done; null where there is no tool of this name.';
COMMENT ON COLUMN tool_calls.doing IS 'The same while it works.';
COMMENT ON COLUMN tool_calls.may_repeat IS 'Whether the tool may be run a second time.';

CREATE VIEW shown_calls AS
    SELECT c.turn_id, c.step, c.position, c.id,
           CASE WHEN c.label IS NULL THEN 'unknown' ELSE c.name END AS name,
           coalesce(c.label, 'Looked for a tool that is not there') AS label,
           coalesce(c.doing, 'Looking for a tool that is not there') AS doing,
           CASE WHEN c.state = 'refused' THEN 'failed' ELSE coalesce(r.state::text, 'requested') END AS state,
           CASE WHEN c.state = 'refused' OR r.state = 'failed'
                THEN t.settled_at IS NOT NULL
                     AND NOT EXISTS (SELECT FROM turns r WHERE r.retry_of = coalesce(t.retry_of, t.id) AND r.queued_at > t.queued_at)
                     AND (t.state IN ('failed', 'cancelled')
                          OR NOT EXISTS (SELECT FROM turns o WHERE o.thread_id = t.thread_id AND (o.queued_at, o.id) > (t.queued_at, t.id)))
                     AND NOT EXISTS (SELECT FROM tool_calls b JOIN tool_runs s ON s.id = b.id WHERE b.turn_id = t.id AND NOT b.may_repeat)
                ELSE false END AS retry,
           r.question_id, r.action_id
      FROM tool_calls c
      JOIN turns t ON t.id = c.turn_id
      LEFT JOIN tool_runs r ON r.id = c.id;
COMMENT ON VIEW shown_calls IS 'Tool calls as people see them: no arguments, no results. A name that is no tool''s was made up by a model and is not shown.';
