-- Deletes a batch of sign-in codes that nobody can use any more. It locks none first: that would take the right to change them.
DELETE FROM login_links
 WHERE id IN (SELECT id FROM login_links WHERE expires_at <= coalesce(:now, now()) ORDER BY expires_at LIMIT :batch)
RETURNING id
