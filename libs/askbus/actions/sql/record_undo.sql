-- Copies what the ledger says became of an undo; where it was done, the action is undone in the same statement.
-- The action's row is locked first, as everywhere.
WITH current AS (
    SELECT a.* FROM actions a JOIN undos u ON u.action_id = a.id WHERE u.id = :undo_id FOR UPDATE OF a),
settled AS (
    UPDATE undos u
       SET state = :state, outcome = :outcome, settled_at = coalesce(:now, now()), trace = coalesce(:trace, u.trace)
      FROM current
     WHERE u.id = :undo_id AND u.action_id = current.id AND u.state = 'requested'
    RETURNING u.*),
undone AS (
    UPDATE actions a
       SET state = 'undone', settled_at = coalesce(:now, now()),
           untold = a.untold + (a.token_id IS NOT NULL AND a.turn_id IS NULL)::int, trace = coalesce(:trace, a.trace)
      FROM settled, current
     WHERE a.id = current.id AND settled.state = 'done' AND current.state = 'applied')
INSERT INTO audit_log (workspace_id, project_id, user_id, via, event, entity, entity_id, part_id)
SELECT workspace_id, project_id, user_id, 'service',
       CASE state WHEN 'done' THEN 'action.undone' ELSE 'action.undo_refused' END, 'action', action_id, id
  FROM settled
