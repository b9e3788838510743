-- The turns of a thread of the user's own that are not over, the one at work first.
SELECT o.id, o.state
  FROM turns o
 WHERE o.thread_id = :thread_id AND o.user_id = :user_id AND o.state IN ('queued', 'running', 'waiting')
 ORDER BY o.queued_at, o.id
