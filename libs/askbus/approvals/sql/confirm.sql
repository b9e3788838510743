-- Confirms a pending action by a standing approval, in the place of its maker's press of Confirm: every condition of both is here, asked of
-- rows that are locked, the action's first, as everywhere. What the approval covers and what the action changes are never changed after they
-- are stored, so that the one was found to hold the other before; `:digest` says which action was looked at.
-- One row comes back where it was confirmed. No row: something stood against it, and nothing was changed.
WITH action AS (SELECT * FROM actions WHERE id = :action_id FOR UPDATE),
approval AS (SELECT * FROM standing_approvals WHERE id = :approval_id AND EXISTS (SELECT FROM action) FOR UPDATE),
fits AS (
    SELECT s.id, s.user_id
      FROM action a, approval s
     WHERE a.state = 'pending' AND a.expires_at > coalesce(:now, now()) AND a.weighed_at IS NULL AND a.digest = :digest
       AND s.state = 'active' AND s.expires_at > coalesce(:now, now()) AND s.uses < s.most_uses
       AND (s.most_per_day IS NULL OR cardinality(s.used_at) < s.most_per_day
            OR s.used_at[cardinality(s.used_at) - s.most_per_day + 1] <= coalesce(:now, now()) - interval '24 hours')
       AND EXISTS (SELECT FROM approvals_of_actions o WHERE o.action_id = a.id AND o.approval_id = s.id)
       AND EXISTS (SELECT FROM project_access p
                    WHERE p.workspace_id = a.workspace_id AND p.project_id = a.project_id AND p.user_id = s.user_id
                      AND p.may_write AND p.role <= :confirm_role::role)),
used AS (
    UPDATE standing_approvals s
       SET uses = s.uses + 1,
           used_at = CASE WHEN s.most_per_day IS NULL THEN s.used_at
                          ELSE (s.used_at || coalesce(:now, now()))[greatest(cardinality(s.used_at) + 2 - s.most_per_day, 1):] END,
           state = CASE WHEN s.uses + 1 = s.most_uses THEN 'used_up' ELSE s.state END,
           ended_at = CASE WHEN s.uses + 1 = s.most_uses THEN coalesce(:now, now()) END, trace = :trace
      FROM fits
     WHERE s.id = fits.id
    RETURNING s.id, s.user_id, s.state),
moved AS (
    UPDATE actions a
       SET state = 'confirmed', decided_by = used.user_id, decided_at = coalesce(:now, now()), approval_id = used.id,
           weighed_at = coalesce(:now, now()), trace = :trace
      FROM used
     WHERE a.id = :action_id
    RETURNING a.*),
audited AS (
    INSERT INTO audit_log (workspace_id, project_id, user_id, via, via_id, event, entity, entity_id)
    SELECT workspace_id, project_id, decided_by, 'standing-approval', approval_id, 'action.confirmed', 'action', id FROM moved)
SELECT moved.id, used.state FROM moved, used
