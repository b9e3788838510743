-- Lets agents in over MCP, or keeps them out: told in the audit log where it changed.
WITH changed AS (
    UPDATE workspaces SET mcp = :mcp WHERE id = :workspace_id AND mcp <> :mcp RETURNING id)
INSERT INTO audit_log (workspace_id, user_id, via, via_id, event, entity, entity_id)
SELECT id, :user_id, :via, :via_id, CASE WHEN :mcp THEN 'mcp.switched_on' ELSE 'mcp.switched_off' END, 'workspace', id FROM changed
