-- Takes somebody's identities at issuers back; they are linked anew by their next sign-in. Sessions that they have stay.
WITH removed AS (DELETE FROM identities WHERE user_id = :user_id RETURNING id, user_id),
audited AS (
    INSERT INTO audit_log (workspace_id, user_id, via, event, entity, entity_id)
    SELECT m.workspace_id, m.user_id, 'command-line', 'identity.removed', 'identity', r.id
      FROM removed r JOIN memberships m USING (user_id))
SELECT id FROM removed
