-- Somebody calls a tool over MCP: who, which, and the call's own id.
INSERT INTO audit_log (workspace_id, user_id, via, via_id, event, entity, entity_id)
VALUES (:workspace_id, :user_id, :via, :via_id, 'mcp.tool_called', :entity, :entity_id)
