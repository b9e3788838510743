-- Every action of a thread as it reads now, in the order in which they were proposed, with the last undo that was refused.
SELECT n.*, a.operations, a.outcome,
       (SELECT u.outcome FROM undos u WHERE u.action_id = n.id AND u.state = 'refused' ORDER BY u.settled_at DESC LIMIT 1) AS refused
  FROM actions_now n
  JOIN actions a USING (id)
 WHERE n.thread_id = :thread_id
 ORDER BY n.proposed_at, n.id
