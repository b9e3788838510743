-- Every action of a thread as it reads now, in the order in which they were proposed, with what became of its last undo.
SELECT n.*, a.operations, a.decisions, a.confirmed, a.outcome,
       (SELECT u.outcome FROM undos u
         WHERE u.action_id = n.id AND u.state <> 'requested'
         ORDER BY u.settled_at DESC LIMIT 1) AS undo
  FROM actions_now n
  JOIN actions a USING (id)
 WHERE n.thread_id = :thread_id
 ORDER BY n.proposed_at, n.id
