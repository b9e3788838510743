-- The undos that a requested one stands for, in the order in which they are carried out: itself, or all of its turn's that are still
-- requested. `stopped`: one of them was refused, so the others are not tried. No row: it is settled, or there is none.
SELECT u.id, u.action_id, u.workspace_id, u.project_id, u.user_id, u.rest,
       NOT u.rest AND EXISTS (SELECT FROM undos o WHERE o.group_id = u.group_id AND o.state = 'refused') AS stopped
  FROM undos asked
  JOIN undos u ON (u.id = asked.id OR u.group_id = asked.group_id) AND u.state = 'requested'
 WHERE asked.id = :undo_id AND asked.state = 'requested'
 ORDER BY u.place
