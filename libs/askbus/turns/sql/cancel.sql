-- Stops a turn of the user's own. One row comes back: the turn as it stands and whether this call moved it. No row: not theirs.
WITH current AS (
    SELECT t.* FROM turns t WHERE t.id = :id AND t.user_id = :user_id AND t.workspace_id = :workspace_id
       AND (:projects::uuid[] IS NULL OR t.project_id = ANY (:projects::uuid[]))
       FOR UPDATE),
moved AS (
    UPDATE turns t
       SET state = 'cancelled', cancel_reason = 'stopped', settled_at = now(), moved_at = now(), holder = NULL, lease_until = NULL,
           moved_command = :command_id, trace = :trace
      FROM current WHERE t.id = current.id AND current.state IN ('queued', 'running', 'waiting')
    RETURNING t.*)
SELECT *, true AS moved, false AS repeated FROM moved
UNION ALL
SELECT *, false, coalesce(moved_command = :command_id, false) FROM current WHERE NOT EXISTS (SELECT FROM moved)
