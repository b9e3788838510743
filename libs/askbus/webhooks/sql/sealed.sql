-- The next webhooks after this id, with what is sealed of them.
SELECT id, secret, old_secret FROM webhooks WHERE id > :after ORDER BY id LIMIT :batch
