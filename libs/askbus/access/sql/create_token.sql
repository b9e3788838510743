-- Stores an API token's hash. The token itself is shown once and never kept.
WITH made AS (
    INSERT INTO tokens (id, workspace_id, user_id, name, prefix, hash, scopes, projects, expires_at, mcp_hold, trace)
    SELECT :id, m.workspace_id, m.user_id, :name, :prefix, :hash, :scopes, :projects, :expires_at, :mcp_hold, :trace
      FROM memberships m
     WHERE m.workspace_id = :workspace_id AND m.user_id = :user_id
       AND (:projects::uuid[] IS NULL OR :projects::uuid[] <@ ARRAY(
               SELECT a.project_id FROM project_access a WHERE a.user_id = m.user_id AND a.workspace_id = m.workspace_id))
    RETURNING *),
audited AS (
    INSERT INTO audit_log (workspace_id, user_id, via, via_id, event, entity, entity_id)
    SELECT workspace_id, user_id, :via, :via_id, 'token.created', 'token', id FROM made)
SELECT id, name, prefix, scopes, projects, state, created_at, expires_at, last_used_at, mcp_hold FROM made
