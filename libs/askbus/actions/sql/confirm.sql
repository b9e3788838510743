-- Confirms a pending action as it was shown. Of concurrent decisions exactly one moves the row.
-- Confirming may be limited to a role: those before it in the type may too, since it is ordered by rights.
-- One row comes back: the action as it now stands, whether this call moved it, and what this principal may do with it.
-- No row: there is no such action.
WITH current AS (SELECT * FROM actions WHERE id = :id FOR UPDATE),
access AS (
    SELECT p.may_write, p.may_write AND p.role <= :confirm_role::role AS may_decide
      FROM current c
      JOIN project_access p ON p.workspace_id = c.workspace_id AND p.project_id = c.project_id AND p.user_id = :user_id
     WHERE c.workspace_id = :workspace_id AND (:projects::uuid[] IS NULL OR c.project_id = ANY (:projects::uuid[]))),
moved AS (
    UPDATE actions a
       SET state = 'confirmed', decided_by = :user_id, decided_at = coalesce(:now, now()), moved_command = :command_id,
           trace = :trace
      FROM current, access
     WHERE a.id = current.id AND current.state = 'pending' AND current.expires_at > coalesce(:now, now())
       AND current.digest = :digest AND access.may_decide
    RETURNING a.*),
audited AS (
    INSERT INTO audit_log (workspace_id, project_id, user_id, via, via_id, event, entity, entity_id)
    SELECT workspace_id, project_id, :user_id, :via, :via_id, 'action.confirmed', 'action', id FROM moved)
SELECT a.*, a.expires_at <= coalesce(:now, now()) AS past, EXISTS (SELECT FROM moved) AS moved,
       a.moved_command = :command_id AND a.decided_by = :user_id
       AND a.state IN ('confirmed', 'applied', 'failed', 'conflicted', 'undone') AS repeated,
       EXISTS (SELECT FROM access) AS seen, EXISTS (SELECT FROM access WHERE may_decide) AS allowed,
       EXISTS (SELECT FROM access WHERE may_write AND NOT may_decide) AS limited
  FROM (SELECT * FROM moved UNION ALL SELECT * FROM current WHERE NOT EXISTS (SELECT FROM moved)) a
