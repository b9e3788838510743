-- Deletes a batch of access tokens past their time.
DELETE FROM oauth_access_tokens
 WHERE id IN (SELECT id FROM oauth_access_tokens WHERE expires_at <= coalesce(:now, now()) ORDER BY expires_at LIMIT :batch)
RETURNING id
