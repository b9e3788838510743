-- Stores a webhook, or finds the one that the same person's same command made, as long as its secret is the one that was shown then. No row:
-- the project is not one of the workspace, who asks is no admin, or the id is another webhook's.
WITH allowed AS (
    SELECT w.id FROM workspaces w
     WHERE w.id = :workspace_id
       AND (:operator OR EXISTS (SELECT FROM memberships m
                                  WHERE m.workspace_id = w.id AND m.user_id = :user_id AND m.role IN ('owner', 'admin')))
       AND (:project_id::uuid IS NULL
            OR EXISTS (SELECT FROM projects p WHERE p.id = :project_id AND p.workspace_id = w.id))),
made AS (
    INSERT INTO webhooks (id, workspace_id, project_id, url, events, secret, created_by, secret_command, trace)
    SELECT :id, id, :project_id, :url, :events, :secret, :user_id, :id, :trace FROM allowed
    ON CONFLICT (id) DO UPDATE SET trace = webhooks.trace
     WHERE webhooks.workspace_id = EXCLUDED.workspace_id AND webhooks.created_by IS NOT DISTINCT FROM EXCLUDED.created_by
       AND webhooks.secret_command = webhooks.id
    RETURNING *, xmax = 0 AS fresh),
audited AS (
    INSERT INTO audit_log (workspace_id, project_id, user_id, via, via_id, event, entity, entity_id)
    SELECT workspace_id, project_id, :user_id, :via, :via_id, 'webhook.created', 'webhook', id FROM made WHERE fresh)
SELECT * FROM made
