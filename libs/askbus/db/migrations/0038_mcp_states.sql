-- What a client over MCP shows when it comes back from the page where a question is answered (2026-07-28, multi-round-trip requests).

CREATE TABLE mcp_states (
    id           uuid PRIMARY KEY,
    hash         bytea NOT NULL UNIQUE CHECK (length(hash) = 32),
    token_id     uuid NOT NULL REFERENCES tokens ON DELETE CASCADE,
    question_id  uuid NOT NULL REFERENCES questions ON DELETE CASCADE,
    request      bytea NOT NULL CHECK (length(request) = 32),
    expires_at   timestamptz NOT NULL,
    used_at      timestamptz
);
CREATE INDEX mcp_states_token ON mcp_states (token_id);
CREATE INDEX mcp_states_question ON mcp_states (question_id);
CREATE INDEX mcp_states_due ON mcp_states (expires_at);
COMMENT ON TABLE mcp_states IS 'writer: gateway. A requestState that was given to one caller for one request, to be shown once; only its SHA-256 is kept.';
COMMENT ON COLUMN mcp_states.request IS 'SHA-256 of the tool and of what was asked, without what a retry may say differently.';
