-- How an undone action was undone: what the ledger says of it. And whether the turn that proposed it is still there.
SELECT u.outcome, EXISTS (SELECT FROM turns t WHERE t.id = a.turn_id) AS turn_stands
  FROM undos u
  JOIN actions a ON a.id = u.action_id
 WHERE u.action_id = :id AND u.state = 'done'
