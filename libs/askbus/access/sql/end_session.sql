-- Signs out. The stream of this session closes by the change that this makes. An issuer's token ends in every workspace.
WITH ended AS (
    UPDATE sessions s SET state = 'revoked', signed_out_at = now(), trace = :trace
      FROM sessions this
     WHERE this.id = :id AND (s.id = this.id OR s.bearer = this.bearer) AND s.state = 'active'
    RETURNING s.id, s.workspace_id, s.user_id)
INSERT INTO audit_log (workspace_id, user_id, via, via_id, event, entity, entity_id)
SELECT workspace_id, user_id, 'session', id, 'session.ended', 'session', id FROM ended
