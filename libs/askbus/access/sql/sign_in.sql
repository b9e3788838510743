-- Uses up a sign-in code and opens a session. Of two uses of one code, one wins. The membership is held before the code, in the order in
-- which its removal takes them. No row: unknown, used or expired.
WITH held AS MATERIALIZED (
    SELECT l.id FROM login_links l JOIN memberships m USING (workspace_id, user_id) WHERE l.hash = :code_hash FOR KEY SHARE OF m),
used AS (
    UPDATE login_links l SET used_at = coalesce(:now, now())
      FROM held
     WHERE l.id = held.id AND purpose = 'sign-in' AND used_at IS NULL AND expires_at > coalesce(:now, now())
    RETURNING workspace_id, user_id),
opened AS (
    INSERT INTO sessions (id, workspace_id, user_id, hash, created_at, expires_at, trace)
    SELECT :session_id, workspace_id, user_id, :session_hash, coalesce(:now, now()), coalesce(:now, now()) + make_interval(secs => :life),
           :trace
      FROM used
    RETURNING id, workspace_id, user_id, expires_at),
audited AS (
    INSERT INTO audit_log (workspace_id, user_id, via, via_id, event, entity, entity_id)
    SELECT workspace_id, user_id, 'session', id, 'session.opened', 'session', id FROM opened)
SELECT * FROM opened
