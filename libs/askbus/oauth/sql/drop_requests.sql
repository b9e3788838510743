-- Deletes a batch of what was asked for long ago, with the codes that came of it.
DELETE FROM oauth_requests
 WHERE id IN (SELECT id FROM oauth_requests WHERE expires_at <= coalesce(:now, now()) - make_interval(secs => :keep)
               ORDER BY expires_at LIMIT :batch)
RETURNING id
