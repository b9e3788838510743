-- Links an issuer's subject to the member with this address, which the issuer verified. No row: there is no such member, or they
-- have another identity at this issuer. Of two links at once, one is made. What let anybody act as this person before ends by its trigger.
WITH person AS (
    SELECT u.id FROM users u
     WHERE lower(u.email) = lower(:email) AND EXISTS (SELECT FROM memberships m WHERE m.user_id = u.id)),
linked AS (
    INSERT INTO identities (id, user_id, issuer, subject)
    SELECT :id, p.id, :issuer, :subject FROM person p
        ON CONFLICT DO NOTHING
    RETURNING id, user_id),
audited AS (
    INSERT INTO audit_log (workspace_id, user_id, via, event, entity, entity_id)
    SELECT m.workspace_id, m.user_id, 'service', 'identity.linked', 'identity', l.id
      FROM linked l JOIN memberships m USING (user_id))
SELECT user_id FROM linked
