-- Lets agents in over MCP, or keeps them out: told in the audit log where it changed. No row: who asks does not run the workspace.
WITH acting AS MATERIALIZED (
    SELECT workspace_id FROM memberships
     WHERE workspace_id = :workspace_id AND user_id = :user_id AND role IN ('owner', 'admin') FOR SHARE),
changed AS (
    UPDATE workspaces w SET mcp = :mcp FROM acting a WHERE w.id = a.workspace_id AND w.mcp <> :mcp RETURNING w.id),
audited AS (
    INSERT INTO audit_log (workspace_id, user_id, via, via_id, event, entity, entity_id)
    SELECT id, :user_id, :via, :via_id, CASE WHEN :mcp THEN 'mcp.switched_on' ELSE 'mcp.switched_off' END, 'workspace', id FROM changed)
SELECT workspace_id FROM acting
