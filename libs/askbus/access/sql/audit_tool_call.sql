-- Somebody calls a tool: who, which, and the call's own id.
INSERT INTO audit_log (workspace_id, user_id, via, via_id, event, entity, entity_id)
VALUES (:workspace_id, :user_id, :via, :via_id, :event, :entity, :entity_id)
