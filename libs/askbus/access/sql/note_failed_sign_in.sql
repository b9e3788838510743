-- A failed sign-in to an account that there is, for the audit of every workspace that it belongs to. Who tried is not known.
INSERT INTO audit_log (workspace_id, via, event, entity, entity_id)
SELECT workspace_id, 'service', 'sign_in.failed', 'user', user_id FROM memberships WHERE user_id = :user_id
