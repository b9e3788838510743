-- The turn of a thread of the user's own that is at work, or else the last that was.
SELECT o.id
  FROM turns o
 WHERE o.thread_id = :thread_id AND o.user_id = :user_id
 ORDER BY o.state IN ('queued', 'running', 'waiting') DESC,
          CASE WHEN o.state IN ('queued', 'running', 'waiting') THEN o.queued_at END, o.queued_at DESC, o.id DESC
 LIMIT 1
