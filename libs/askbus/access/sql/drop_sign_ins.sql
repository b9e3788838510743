-- Deletes a batch of sign-ins at issuers that nobody came back from. It locks none first: that would take the right to change them.
DELETE FROM sign_in_attempts
 WHERE id IN (SELECT id FROM sign_in_attempts WHERE expires_at <= coalesce(:now, now()) ORDER BY expires_at LIMIT :batch)
RETURNING id
