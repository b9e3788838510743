-- Links an issuer's subject to the member with this address, which the issuer verified. No row: there is no such member, or they
-- have another identity at this issuer. Of two links at once, one is made. Nobody proved before that the address is theirs, so what let
-- anybody act as this person ends: browsers' sessions, and the password.
WITH person AS (
    SELECT u.id FROM users u
     WHERE lower(u.email) = lower(:email) AND EXISTS (SELECT FROM memberships m WHERE m.user_id = u.id)),
linked AS (
    INSERT INTO identities (id, user_id, issuer, subject)
    SELECT :id, p.id, :issuer, :subject FROM person p
        ON CONFLICT DO NOTHING
    RETURNING id, user_id),
forgotten AS (DELETE FROM passwords WHERE user_id IN (SELECT user_id FROM linked)),
ended AS (
    UPDATE sessions s SET state = 'revoked' FROM linked l WHERE s.user_id = l.user_id AND s.state = 'active' AND s.bearer IS NULL),
audited AS (
    INSERT INTO audit_log (workspace_id, user_id, via, event, entity, entity_id)
    SELECT m.workspace_id, m.user_id, 'service', 'identity.linked', 'identity', l.id
      FROM linked l JOIN memberships m USING (user_id))
SELECT user_id FROM linked
