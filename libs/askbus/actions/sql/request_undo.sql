-- Asks for an applied action to be undone; one request at a time, and none after it was done.
-- One row comes back: the action as it now stands, the request that was made or found by its id, and what this principal may do.
-- No row: there is no such action.
WITH current AS (SELECT * FROM actions WHERE id = :id FOR UPDATE),
access AS (
    SELECT p.may_write AS may_undo
      FROM current c
      JOIN project_access p ON p.workspace_id = c.workspace_id AND p.project_id = c.project_id AND p.user_id = :user_id
     WHERE c.workspace_id = :workspace_id AND (:projects::uuid[] IS NULL OR c.project_id = ANY (:projects::uuid[]))),
known AS (SELECT * FROM undos WHERE id = :undo_id OR command_id = :command_id),
requested AS (
    INSERT INTO undos (id, workspace_id, project_id, user_id, action_id, requested_at, command_id, trace, rest)
    SELECT :undo_id, c.workspace_id, c.project_id, :user_id, c.id, coalesce(:now, now()), :command_id, :trace, :rest::boolean
      FROM current c, access
     WHERE c.state = 'applied' AND access.may_undo AND NOT EXISTS (SELECT FROM known)
       AND NOT EXISTS (SELECT FROM undos u WHERE u.action_id = c.id AND u.state = 'requested')
    RETURNING *),
audited AS (
    INSERT INTO audit_log (workspace_id, project_id, user_id, via, via_id, event, entity, entity_id, part_id)
    SELECT workspace_id, project_id, :user_id, :via, :via_id, 'action.undo_requested', 'action', action_id, id FROM requested)
SELECT c.*, u.id AS undo_id, u.action_id AS undo_action_id, u.user_id AS undo_user_id, u.state AS undo_state,
       u.requested_at AS undo_requested_at, u.settled_at AS undo_settled_at, u.rest AS undo_rest, u.group_id AS undo_group_id,
       EXISTS (SELECT FROM access) AS seen, EXISTS (SELECT FROM access WHERE may_undo) AS allowed
  FROM current c
  LEFT JOIN (SELECT * FROM requested UNION ALL SELECT * FROM known) u ON true
