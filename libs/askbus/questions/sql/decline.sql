-- Declines an open question, with a reason or without.
-- One row comes back: the question as it now stands, whether this call moved it (or had moved it before), and what this principal may do
-- with it. No row: there is no such question.
WITH current AS (SELECT * FROM questions WHERE id = :id FOR UPDATE),
access AS (
    SELECT v.may_answer AND NOT (:token_id::uuid IS NOT NULL AND c.token_id IS NOT NULL AND c.user_id = :user_id) AS may_answer,
           c.asker_id = :asker AS asked
      FROM current c JOIN question_viewers v ON v.question_id = c.id AND v.user_id = :user_id
     WHERE c.workspace_id = :workspace_id AND (:projects::uuid[] IS NULL OR c.project_id = ANY (:projects::uuid[]))),
moved AS (
    UPDATE questions q
       SET state = 'declined', reason = :reason, settled_by = :user_id, settled_at = coalesce(:now, now()), moved_command = :command_id,
           untold = q.untold + (q.token_id IS NOT NULL AND q.turn_id IS NULL)::int, trace = :trace
      FROM current, access
     WHERE q.id = current.id AND current.state = 'open' AND current.expires_at > coalesce(:now, now()) AND access.may_answer
       AND NOT EXISTS (SELECT FROM turn_ends e WHERE e.turn_id = current.turn_id)
    RETURNING q.*),
audited AS (
    INSERT INTO audit_log (workspace_id, project_id, user_id, via, via_id, event, entity, entity_id)
    SELECT workspace_id, project_id, :user_id, :via, :via_id, 'question.declined', 'question', id FROM moved)
SELECT q.*, q.expires_at <= coalesce(:now, now()) AS past, EXISTS (SELECT FROM moved) AS moved,
       (SELECT e.question_state FROM turn_ends e WHERE e.turn_id = q.turn_id) AS ended_as,
       q.state = 'declined' AND q.moved_command = :command_id AND q.settled_by = :user_id AS repeated,
       EXISTS (SELECT FROM access) AS seen, EXISTS (SELECT FROM access WHERE may_answer) AS may_answer,
       EXISTS (SELECT FROM access WHERE asked) AS asked
  FROM (SELECT * FROM moved UNION ALL SELECT * FROM current WHERE NOT EXISTS (SELECT FROM moved)) q
