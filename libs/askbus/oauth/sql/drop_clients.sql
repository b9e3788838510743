-- Deletes a batch of apps that nobody allowed anything for as long as they are kept: asked again of each, since somebody may in this moment.
DELETE FROM oauth_clients
 WHERE id IN (SELECT id FROM oauth_clients
               WHERE used_at IS NULL AND created_at <= coalesce(:now, now()) - make_interval(secs => :keep)
               ORDER BY created_at LIMIT :batch)
   AND used_at IS NULL
RETURNING id
