-- Asks for all applied actions of a turn to be undone, the one that was applied last first; all of them or none.
-- One row comes back: what stands in the way, and how many requests there are under this group's id, made now or before.
WITH current AS (SELECT * FROM actions WHERE turn_id = :turn_id AND workspace_id = :workspace_id ORDER BY id FOR UPDATE),
access AS (
    SELECT c.id, p.may_write AS may_undo
      FROM current c
      JOIN project_access p ON p.workspace_id = c.workspace_id AND p.project_id = c.project_id AND p.user_id = :user_id
     WHERE :projects::uuid[] IS NULL OR c.project_id = ANY (:projects::uuid[])),
known AS (SELECT id, user_id = :user_id AND action_id IN (SELECT id FROM current) AS own FROM undos WHERE group_id = :group_id),
now_at AS (
    SELECT EXISTS (SELECT FROM access) AS seen,
           NOT EXISTS (SELECT FROM access WHERE NOT may_undo) AS allowed,
           EXISTS (SELECT FROM current JOIN access USING (id) WHERE state = 'confirmed') AS applying,
           EXISTS (SELECT FROM undos u JOIN access ON access.id = u.action_id WHERE u.state = 'requested') AS undoing),
requested AS (
    INSERT INTO undos (id, workspace_id, project_id, user_id, action_id, requested_at, command_id, trace, rest, group_id, place)
    SELECT x.undo_id, x.workspace_id, x.project_id, :user_id, x.id, coalesce(:now, now()), x.undo_id, :trace, :rest::boolean,
           :group_id, x.place
      FROM (SELECT c.*, uuidv7() AS undo_id,
                   row_number() OVER (ORDER BY (c.outcome ->> 'at')::timestamptz DESC, c.id DESC) AS place
              FROM current c JOIN access USING (id) WHERE c.state = 'applied') x,
           now_at
     WHERE now_at.allowed AND NOT now_at.applying AND NOT now_at.undoing AND NOT EXISTS (SELECT FROM known)
    RETURNING *),
audited AS (
    INSERT INTO audit_log (workspace_id, project_id, user_id, via, via_id, event, entity, entity_id, part_id)
    SELECT workspace_id, project_id, :user_id, :via, :via_id, 'action.undo_requested', 'action', action_id, id FROM requested)
SELECT now_at.*, (SELECT count(*) FROM requested)::int AS requested, (SELECT count(*) FROM known)::int AS known,
       NOT EXISTS (SELECT FROM known WHERE NOT own) AS own
  FROM now_at
