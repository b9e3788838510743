-- askbus as an MCP server: how long a client is held, and what a client was sent away with to come back.

ALTER TABLE tokens ADD COLUMN mcp_hold integer CHECK (mcp_hold BETWEEN 1 AND 600);
COMMENT ON COLUMN tokens.mcp_hold IS 'Seconds for which a call over MCP may wait for people, where the owner said so; null leaves it to the deployment.';

CREATE TABLE mcp_states (
    hash          bytea PRIMARY KEY,
    token_id      uuid NOT NULL REFERENCES tokens ON DELETE CASCADE,
    request       bytea NOT NULL,
    question_ids  uuid[] NOT NULL,
    expires_at    timestamptz NOT NULL
);
CREATE INDEX mcp_states_token ON mcp_states (token_id, expires_at);
COMMENT ON TABLE mcp_states IS 'writer: gateway. What a client was sent to the answer page with (requestState), by the SHA-256 of what it holds: deleted by its one use, or by the token''s next one after its time.';

-- What happened lately is read from the newest on.
CREATE INDEX actions_moved ON actions (project_id, (coalesce(settled_at, decided_at, proposed_at)), id);
CREATE INDEX questions_moved ON questions (project_id, (coalesce(settled_at, asked_at)), id);
