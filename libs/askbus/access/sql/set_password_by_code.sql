-- Uses up a password link: sets the password, ends the person's other sessions, and opens one. Of two uses of one code, one wins.
-- The membership is held before the code, in the order in which its removal takes them.
WITH held AS MATERIALIZED (
    SELECT l.id FROM login_links l JOIN memberships m USING (workspace_id, user_id) WHERE l.hash = :code_hash FOR KEY SHARE OF m),
used AS (
    UPDATE login_links l SET used_at = coalesce(:now, now())
      FROM held
     WHERE l.id = held.id AND purpose = 'password' AND used_at IS NULL AND expires_at > coalesce(:now, now())
    RETURNING workspace_id, user_id),
kept AS (
    INSERT INTO passwords (user_id, hash) SELECT user_id, :hash FROM used
        ON CONFLICT (user_id) DO UPDATE SET hash = EXCLUDED.hash, set_at = now()
    RETURNING user_id),
ended AS (
    UPDATE sessions s SET state = 'revoked', trace = :trace
      FROM kept WHERE s.user_id = kept.user_id AND s.state = 'active' AND s.bearer IS NULL),
opened AS (
    INSERT INTO sessions (id, workspace_id, user_id, hash, method, expires_at, trace)
    SELECT :session_id, workspace_id, user_id, :session_hash, 'password', now() + make_interval(secs => :life), :trace FROM used
    RETURNING id, workspace_id, user_id, expires_at),
audited AS (
    INSERT INTO audit_log (workspace_id, user_id, via, via_id, event, entity, entity_id)
    SELECT o.workspace_id, o.user_id, 'session', o.id, e.event, e.entity, CASE e.entity WHEN 'user' THEN o.user_id ELSE o.id END
      FROM opened o CROSS JOIN (VALUES ('password.set', 'user'), ('session.opened', 'session')) AS e(event, entity))
SELECT * FROM opened
