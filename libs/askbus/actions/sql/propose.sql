-- Stores a proposal, or finds the one that this id, this call or this proposer's dedupe key already stands for.
-- No row: the proposer may not propose there.
WITH existing AS (
    SELECT * FROM actions
     WHERE id = :id
        OR (dedupe_key = :dedupe_key AND project_id = :project_id AND proposer_id = :proposer)
       FOR UPDATE),
allowed AS (
    SELECT a.workspace_id, a.project_id
      FROM project_access a
     WHERE a.user_id = :user_id AND a.workspace_id = :workspace_id AND a.project_id = :project_id AND a.may_write
       AND (:projects::uuid[] IS NULL OR a.project_id = ANY (:projects::uuid[]))),
proposed AS (
    INSERT INTO actions (id, workspace_id, project_id, user_id, token_id, proposer_id, thread_id, turn_id, call_id, dedupe_key, summary,
                         headline, operations, digest, proposed_at, expires_at, proposed_command, trace)
    SELECT :id, workspace_id, project_id, :user_id, :token_id, :proposer, :thread_id, :turn_id, :call_id, :dedupe_key, :summary,
           :headline, :operations, :digest, coalesce(:now, now()), coalesce(:now, now()) + make_interval(secs => :expires_in),
           :command_id, :trace
      FROM allowed
     WHERE NOT EXISTS (SELECT FROM existing)
    ON CONFLICT (proposer_id, project_id, dedupe_key) WHERE dedupe_key IS NOT NULL
        DO UPDATE SET dedupe_key = EXCLUDED.dedupe_key
    RETURNING *),
audited AS (
    INSERT INTO audit_log (workspace_id, project_id, user_id, via, via_id, event, entity, entity_id)
    SELECT workspace_id, project_id, :user_id, :via, :via_id, 'action.proposed', 'action', id FROM proposed WHERE id = :id)
SELECT a.*, a.expires_at <= coalesce(:now, now()) AS past
  FROM (SELECT * FROM proposed UNION ALL SELECT * FROM existing WHERE EXISTS (SELECT FROM allowed)) a
 ORDER BY a.id = :id DESC
 LIMIT 1
