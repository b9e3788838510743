-- Makes an issuer's token a session in a workspace, until it expires. No row: it has one there, ended or not, or was signed out.
WITH opened AS (
    INSERT INTO sessions (id, workspace_id, user_id, hash, expires_at, method, bearer, trace)
    SELECT :id, m.workspace_id, m.user_id, sha256(:bearer || uuid_send(m.workspace_id)), :expires_at, 'jwt', :bearer, :trace
      FROM memberships m
     WHERE m.workspace_id = :workspace_id AND m.user_id = :user_id AND :expires_at > now()
       AND NOT EXISTS (SELECT FROM sessions e WHERE e.bearer = :bearer AND e.signed_out_at IS NOT NULL)
        ON CONFLICT (hash) DO NOTHING
    RETURNING id, workspace_id, user_id),
audited AS (
    INSERT INTO audit_log (workspace_id, user_id, via, via_id, event, entity, entity_id)
    SELECT workspace_id, user_id, 'session', id, 'session.opened', 'session', id FROM opened)
SELECT id FROM opened
