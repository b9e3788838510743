-- Stores a standing approval, or finds the one that this id already stands for. Only for a conversation or a token of the maker's own, in
-- that project. Making one is confirming in advance, so it takes the same role.
-- No row: there is no such project, conversation or token, or they may not confirm there.
WITH existing AS (SELECT * FROM standing_approvals WHERE id = :id),
made AS (
    INSERT INTO standing_approvals (id, workspace_id, project_id, user_id, thread_id, token_id, cover, most_uses, most_per_day, made_at,
                                    expires_at, made_command, trace)
    SELECT :id, p.workspace_id, p.project_id, :user_id, :thread_id, :token_id, :cover, :most_uses, :most_per_day, coalesce(:now, now()),
           coalesce(:now, now()) + make_interval(secs => :expires_in), :command_id, :trace
      FROM project_access p
     WHERE p.user_id = :user_id AND p.workspace_id = :workspace_id AND p.project_id = :project_id
       AND p.may_write AND p.role <= :confirm_role::role
       AND (EXISTS (SELECT FROM threads t WHERE t.id = :thread_id AND t.user_id = :user_id AND t.project_id = p.project_id)
            OR EXISTS (SELECT FROM tokens t
                        WHERE t.id = :token_id AND t.user_id = :user_id AND t.workspace_id = p.workspace_id AND t.state = 'active'
                          AND (t.expires_at IS NULL OR t.expires_at > coalesce(:now, now()))
                          AND (t.projects IS NULL OR p.project_id = ANY (t.projects))))
       AND NOT EXISTS (SELECT FROM existing)
    ON CONFLICT (id) DO UPDATE SET id = EXCLUDED.id
    RETURNING *),
audited AS (
    INSERT INTO audit_log (workspace_id, project_id, user_id, via, via_id, event, entity, entity_id)
    SELECT workspace_id, project_id, :user_id, :via, :via_id, 'standing_approval.made', 'standing_approval', id
      FROM made WHERE made_command = :command_id)
SELECT a.*, a.expires_at <= coalesce(:now, now()) AS past FROM (SELECT * FROM made UNION ALL SELECT * FROM existing) a
