-- Stores a question, or finds the one that this id, this call or this asker's dedupe key already stands for.
-- No row: the asker may not ask there, somebody who is named (assignee, reminder, escalation) cannot answer there, or what it supersedes is not open (any more).
WITH allowed AS (
    SELECT a.workspace_id, a.project_id
      FROM project_access a
     WHERE a.user_id = :user_id AND a.workspace_id = :workspace_id AND a.project_id = :project_id AND a.may_write
       AND (:projects::uuid[] IS NULL OR a.project_id = ANY (:projects::uuid[]))),
existing AS (
    SELECT * FROM questions
     WHERE id = :id
        OR call_id = :call_id
        OR (dedupe_key = :dedupe_key AND project_id = :project_id AND asker_id = :asker)
       FOR UPDATE),
replaceable AS (
    SELECT id FROM questions
     WHERE id = :supersedes AND asker_id = :asker AND state = 'open' AND expires_at > coalesce(:now, now())
       FOR UPDATE),
asked AS (
    INSERT INTO questions (id, workspace_id, project_id, user_id, token_id, asker_id, turn_id, call_id, dedupe_key, title, text, options,
                           multiple, free_text, answer_schema, link, reference, priority, assignee_id, asked_at, expires_at,
                           asked_command, trace, remind_at, remind_role, remind_user, escalate_at, escalate_role, escalate_user)
    SELECT :id, workspace_id, project_id, :user_id, :token_id, :asker, :turn_id, :call_id, :dedupe_key, :title, :text, :options,
           :multiple, :free_text, :answer_schema, :link, :reference, :priority, :assignee_id, coalesce(:now, now()),
           coalesce(:now, now()) + make_interval(secs => :expires_in), :command_id, :trace,
           coalesce(:now, now()) + make_interval(secs => :remind_after), :remind_role, :remind_user,
           coalesce(:now, now()) + make_interval(secs => :escalate_after), :escalate_role, :escalate_user
      FROM allowed
     WHERE NOT EXISTS (SELECT FROM existing)
       AND (:supersedes::uuid IS NULL OR EXISTS (SELECT FROM replaceable))
       AND NOT EXISTS (
               SELECT FROM unnest(ARRAY[:assignee_id, :remind_user, :escalate_user]::uuid[]) AS named
                WHERE named IS NOT NULL AND NOT EXISTS (
                          SELECT FROM project_access b WHERE b.user_id = named AND b.project_id = :project_id AND b.may_write))
    ON CONFLICT (asker_id, project_id, dedupe_key) WHERE dedupe_key IS NOT NULL
        DO UPDATE SET dedupe_key = EXCLUDED.dedupe_key
    RETURNING *),
replaced AS (
    UPDATE questions
       SET state = 'superseded', superseded_by = :id, settled_at = coalesce(:now, now()), moved_command = :command_id,
           untold = untold + (token_id IS NOT NULL AND turn_id IS NULL)::int, trace = :trace
     WHERE id IN (SELECT id FROM replaceable) AND EXISTS (SELECT FROM asked WHERE id = :id)),
audited AS (
    INSERT INTO audit_log (workspace_id, project_id, user_id, via, via_id, event, entity, entity_id)
    SELECT workspace_id, project_id, :user_id, :via, :via_id, 'question.asked', 'question', id FROM asked WHERE id = :id)
SELECT q.*, q.expires_at <= coalesce(:now, now()) AS past,
       (SELECT e.question_state FROM turn_ends e WHERE e.turn_id = q.turn_id) AS ended_as
  FROM (SELECT * FROM asked UNION ALL SELECT * FROM existing WHERE EXISTS (SELECT FROM allowed)) q
 ORDER BY q.id = :id DESC
 LIMIT 1
