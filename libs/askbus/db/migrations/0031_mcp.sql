-- askbus as an MCP server: how long a client is held, and what happened lately.

ALTER TABLE tokens ADD COLUMN mcp_hold integer CHECK (mcp_hold BETWEEN 1 AND 600);
COMMENT ON COLUMN tokens.mcp_hold IS 'Seconds for which a call over MCP may wait for people, where the owner said so; null leaves it to the deployment.';

-- What happened lately is read from the newest on.
CREATE INDEX actions_moved ON actions (project_id, (coalesce(settled_at, decided_at, proposed_at)), id);
CREATE INDEX questions_moved ON questions (project_id, (coalesce(settled_at, asked_at)), id);
