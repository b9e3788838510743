-- Deletes a batch of sign-in codes that nobody can use any more.
DELETE FROM login_links
 WHERE id IN (SELECT id FROM login_links WHERE expires_at <= coalesce(:now, now()) LIMIT :batch FOR UPDATE SKIP LOCKED)
RETURNING id
