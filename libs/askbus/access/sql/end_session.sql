-- Signs out. The stream of this session closes by the change that this makes.
WITH ended AS (
    UPDATE sessions SET state = 'revoked', trace = :trace WHERE id = :id AND state = 'active' RETURNING id, workspace_id, user_id)
INSERT INTO audit_log (workspace_id, user_id, via, via_id, event, entity, entity_id)
SELECT workspace_id, user_id, 'session', id, 'session.ended', 'session', id FROM ended
