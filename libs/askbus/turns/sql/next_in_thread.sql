-- The turn of the same thread that waits next, once this one is over.
SELECT o.id FROM turns t JOIN turns o ON o.thread_id = t.thread_id
 WHERE t.id = :id AND o.state = 'queued'
 ORDER BY o.queued_at, o.id LIMIT 1
