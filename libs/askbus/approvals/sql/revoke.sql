-- Revokes a standing approval; its maker may, and owners and admins.
-- One row comes back: the approval as it now stands, whether this call moved it, and what this principal may do with it.
-- No row: there is no such approval.
WITH current AS (SELECT * FROM standing_approvals WHERE id = :id FOR UPDATE),
access AS (
    SELECT c.user_id = :user_id OR p.role <= 'admin' AS may_revoke
      FROM current c
      JOIN project_access p ON p.workspace_id = c.workspace_id AND p.project_id = c.project_id AND p.user_id = :user_id
     WHERE c.workspace_id = :workspace_id),
moved AS (
    UPDATE standing_approvals s
       SET state = 'revoked', ended_at = coalesce(:now, now()), revoked_by = :user_id, moved_command = :command_id, trace = :trace
      FROM current, access
     WHERE s.id = current.id AND current.state = 'active' AND current.expires_at > coalesce(:now, now()) AND access.may_revoke
    RETURNING s.*),
audited AS (
    INSERT INTO audit_log (workspace_id, project_id, user_id, via, via_id, event, entity, entity_id)
    SELECT workspace_id, project_id, :user_id, :via, :via_id, 'standing_approval.revoked', 'standing_approval', id FROM moved)
SELECT a.*, a.expires_at <= coalesce(:now, now()) AS past, EXISTS (SELECT FROM moved) AS moved,
       a.moved_command = :command_id AND a.revoked_by = :user_id AS repeated,
       EXISTS (SELECT FROM access) AS seen, EXISTS (SELECT FROM access WHERE may_revoke) AS allowed
  FROM (SELECT * FROM moved UNION ALL SELECT * FROM current WHERE NOT EXISTS (SELECT FROM moved)) a
