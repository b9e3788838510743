-- Deletes a batch of refresh tokens past their time.
DELETE FROM oauth_refresh_tokens
 WHERE id IN (SELECT id FROM oauth_refresh_tokens WHERE expires_at <= coalesce(:now, now()) ORDER BY expires_at LIMIT :batch)
RETURNING id
