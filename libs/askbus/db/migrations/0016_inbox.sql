-- The inbox: reminders and escalations, what each person has seen or put off, and lists that stay quick with very many open questions.

ALTER TABLE questions
    ADD COLUMN remind_at      timestamptz,
    ADD COLUMN remind_role    role CHECK (remind_role <> 'viewer'),
    ADD COLUMN remind_user    uuid,
    ADD COLUMN reminded       boolean NOT NULL DEFAULT false,
    ADD COLUMN escalate_at    timestamptz,
    ADD COLUMN escalate_role  role CHECK (escalate_role <> 'viewer'),
    ADD COLUMN escalate_user  uuid,
    ADD COLUMN escalated      boolean NOT NULL DEFAULT false,
    ADD CHECK (remind_at > asked_at AND remind_at < expires_at),
    ADD CHECK (remind_role IS NULL OR remind_user IS NULL),
    ADD CHECK (remind_at IS NOT NULL OR (remind_role IS NULL AND remind_user IS NULL AND NOT reminded)),
    ADD CHECK (escalate_at > asked_at AND escalate_at < expires_at),
    ADD CHECK (num_nonnulls(escalate_role, escalate_user) = (escalate_at IS NOT NULL)::int),
    ADD CHECK (escalate_at IS NOT NULL OR NOT escalated);
COMMENT ON TABLE questions IS 'writer: question-broker; expiry (state, settled_at, untold, trace, reminded, escalated). Something that an agent wants a person to answer.';
COMMENT ON COLUMN questions.remind_at IS 'From then on it is unseen again for `remind_user`, for `remind_role` and above, or for everybody who may answer it.';
COMMENT ON COLUMN questions.reminded IS 'Whether that was told; what is true at a time does not wait for it.';
COMMENT ON COLUMN questions.escalate_at IS 'From then on `escalate_user`, or `escalate_role` and above, may answer it beside its assignee.';
COMMENT ON COLUMN questions.escalated IS 'Whether that was told; what is true at a time does not wait for it.';

-- Each list has an index that its pages are read from in order, however many questions there are.
DROP INDEX questions_newest, questions_open;
CREATE INDEX questions_newest ON questions (project_id, asked_at, id);
CREATE INDEX questions_asker ON questions (asker_id, project_id, asked_at, id);
CREATE INDEX questions_open ON questions (project_id, priority, asked_at, id) WHERE state = 'open';
CREATE INDEX questions_open_assignee ON questions (project_id, assignee_id, priority, asked_at, id) WHERE state = 'open';
CREATE INDEX questions_open_asker ON questions (asker_id, project_id, priority, asked_at, id) WHERE state = 'open';
CREATE INDEX questions_open_chat ON questions (user_id, asked_at) WHERE state = 'open' AND turn_id IS NOT NULL;
CREATE INDEX questions_open_due ON questions (project_id, expires_at) WHERE state = 'open' AND turn_id IS NULL;
CREATE INDEX questions_open_escalating ON questions (project_id, escalate_at)
    WHERE state = 'open' AND escalate_at IS NOT NULL AND assignee_id IS NOT NULL;
CREATE INDEX questions_remind ON questions (remind_at) WHERE state = 'open' AND remind_at IS NOT NULL AND NOT reminded;
CREATE INDEX questions_escalate ON questions (escalate_at) WHERE state = 'open' AND escalate_at IS NOT NULL AND NOT escalated;

CREATE TRIGGER log_reminded AFTER UPDATE ON questions
    FOR EACH ROW WHEN (NEW.reminded AND NOT OLD.reminded) EXECUTE FUNCTION log_question('reminded');
CREATE TRIGGER log_escalated AFTER UPDATE ON questions
    FOR EACH ROW WHEN (NEW.escalated AND NOT OLD.escalated) EXECUTE FUNCTION log_question('escalated');

CREATE OR REPLACE VIEW question_viewers AS
    SELECT q.id AS question_id, a.user_id, a.project_id,
           a.may_write AND (q.assignee_id IS NULL OR q.assignee_id = a.user_id
                            OR coalesce(q.escalate_at <= now() AND (q.escalate_user = a.user_id OR a.role <= q.escalate_role), false))
               AS may_answer
      FROM questions q
      JOIN project_access a USING (workspace_id, project_id)
     WHERE q.turn_id IS NULL OR q.user_id = a.user_id;

CREATE OR REPLACE VIEW questions_now AS
    SELECT q.id, q.workspace_id, q.project_id, q.user_id, q.token_id, q.asker_id, q.turn_id, q.call_id,
           CASE WHEN q.state <> 'open' THEN q.state
                WHEN e.turn_id IS NOT NULL THEN e.question_state
                WHEN q.expires_at <= now() THEN 'expired'
                ELSE q.state END AS state,
           q.title, q.text, q.options, q.multiple, q.free_text, q.answer_schema, q.link, q.reference, q.priority, q.assignee_id,
           q.dedupe_key, q.asked_at, q.expires_at,
           CASE WHEN q.state <> 'open' THEN q.settled_at
                WHEN e.turn_id IS NOT NULL THEN e.settled_at
                WHEN q.expires_at <= now() THEN q.expires_at END AS settled_at,
           q.settled_by, q.answer, q.reason, q.superseded_by, q.note_count, q.untold,
           q.remind_at, q.remind_role, q.remind_user, q.escalate_at, q.escalate_role, q.escalate_user,
           q.escalated OR coalesce(q.state = 'open' AND q.escalate_at <= now(), false) AS escalated
      FROM questions q
      LEFT JOIN turn_ends e ON e.turn_id = q.turn_id;

CREATE VIEW open_questions AS
    SELECT q.* FROM questions q
     WHERE q.state = 'open' AND q.expires_at > now()
       AND (q.turn_id IS NULL OR (SELECT e.turn_id FROM turn_ends e WHERE e.turn_id = q.turn_id) IS NULL);
COMMENT ON VIEW open_questions IS 'Questions that are open now: not over by their time, nor by the turn that asked.';

-- ---------------------------------------------------------------------------------------------------------------------
-- What each person did with an open question without answering it. A row lives as long as the question is open.

CREATE TABLE question_marks (
    question_id    uuid NOT NULL REFERENCES questions ON DELETE CASCADE,
    user_id        uuid NOT NULL REFERENCES users ON DELETE CASCADE,
    seen_at        timestamptz,
    snoozed_at     timestamptz,
    snoozed_until  timestamptz,
    trace          text,
    PRIMARY KEY (user_id, question_id),
    CHECK ((snoozed_at IS NULL) = (snoozed_until IS NULL))
);
CREATE INDEX question_marks_question ON question_marks (question_id);
CREATE INDEX question_marks_due ON question_marks (snoozed_until) WHERE snoozed_until IS NOT NULL;
COMMENT ON TABLE question_marks IS 'writer: question-broker; expiry (snoozed_at, snoozed_until). That a person has seen an open question, or does not want to see it until a time.';

CREATE VIEW question_marks_now AS
    SELECT k.question_id, k.user_id, coalesce(k.seen_at >= coalesce(c.called_at, k.seen_at), false) AS seen,
           CASE WHEN k.snoozed_until > now() AND k.snoozed_at >= coalesce(c.called_at, k.snoozed_at) THEN k.snoozed_until END AS snoozed_until
      FROM question_marks k
     CROSS JOIN LATERAL (
           SELECT greatest(
                      CASE WHEN q.remind_at <= now() AND (q.remind_user = a.user_id OR a.role <= q.remind_role
                                                          OR num_nonnulls(q.remind_user, q.remind_role) = 0) THEN q.remind_at END,
                      CASE WHEN q.escalate_at <= now() AND (q.escalate_user = a.user_id OR a.role <= q.escalate_role)
                           THEN q.escalate_at END) AS called_at
             FROM questions q
             JOIN project_access a ON a.user_id = k.user_id AND a.project_id = q.project_id
            WHERE q.id = k.question_id
           OFFSET 0) c;
COMMENT ON VIEW question_marks_now IS 'Marks as they count now: a reminder or an escalation to this person makes the question unseen again, and ends what put it off.';

-- Told to that person alone. Whoever writes a mark holds the question's row, or a mark that its end would have to delete first: so no mark is
-- logged after the end.
CREATE FUNCTION log_mark() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
    SET search_path = pg_catalog, askbus, pg_temp AS $$
BEGIN
    INSERT INTO change_log (fact, entity, entity_id, status, workspace_id, project_id, user_id, assignee_id, parent_id, trace)
    SELECT 'question.' || TG_ARGV[0], 'question', q.id, q.state::text, q.workspace_id, q.project_id, NEW.user_id, q.assignee_id,
           q.turn_id, NEW.trace
      FROM questions q WHERE q.id = NEW.question_id;
    RETURN NULL;
END $$;
CREATE TRIGGER log_first_seen AFTER INSERT ON question_marks
    FOR EACH ROW WHEN (NEW.seen_at IS NOT NULL) EXECUTE FUNCTION log_mark('seen');
CREATE TRIGGER log_seen AFTER UPDATE ON question_marks
    FOR EACH ROW WHEN (NEW.seen_at IS DISTINCT FROM OLD.seen_at) EXECUTE FUNCTION log_mark('seen');
CREATE TRIGGER log_first_snoozed AFTER INSERT ON question_marks
    FOR EACH ROW WHEN (NEW.snoozed_until IS NOT NULL) EXECUTE FUNCTION log_mark('snoozed');
CREATE TRIGGER log_snoozed AFTER UPDATE ON question_marks
    FOR EACH ROW WHEN (NEW.snoozed_until IS NOT NULL AND NEW.snoozed_until IS DISTINCT FROM OLD.snoozed_until)
    EXECUTE FUNCTION log_mark('snoozed');
CREATE TRIGGER log_unsnoozed AFTER UPDATE ON question_marks
    FOR EACH ROW WHEN (NEW.snoozed_until IS NULL AND OLD.snoozed_until IS NOT NULL) EXECUTE FUNCTION log_mark('unsnoozed');

CREATE FUNCTION forget_marks() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
    SET search_path = pg_catalog, askbus, pg_temp AS $$
BEGIN
    DELETE FROM question_marks WHERE question_id = NEW.id;
    RETURN NULL;
END $$;
CREATE TRIGGER forget_marks AFTER UPDATE ON questions
    FOR EACH ROW WHEN (OLD.state = 'open' AND NEW.state <> 'open') EXECUTE FUNCTION forget_marks();

-- ---------------------------------------------------------------------------------------------------------------------
-- How many questions are open, kept by adding: each change is a row of its own, so that no two askers wait for each other, and expiry folds
-- the rows of a kind into one. Their sum is right at any moment, folded or not. A chat's own questions are few and counted themselves.

CREATE TABLE question_tallies (
    id           bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    project_id   uuid NOT NULL,
    assignee_id  uuid,
    agent_of     uuid,
    open         integer NOT NULL,
    folded       boolean NOT NULL DEFAULT false
);
CREATE INDEX question_tallies_project ON question_tallies (project_id, assignee_id, agent_of);
CREATE INDEX question_tallies_new ON question_tallies (id) WHERE NOT folded;
COMMENT ON TABLE question_tallies IS 'writer: expiry. Open questions of a project by assignee and by whose agent asks, as a sum of rows: triggers add them, expiry folds them.';
COMMENT ON COLUMN question_tallies.agent_of IS 'The user whose token asks; null where a person does.';

CREATE FUNCTION tally_question() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
    SET search_path = pg_catalog, askbus, pg_temp AS $$
DECLARE
    moved record := CASE WHEN TG_OP = 'DELETE' THEN OLD ELSE NEW END;
BEGIN
    INSERT INTO question_tallies (project_id, assignee_id, agent_of, open)
    VALUES (moved.project_id, moved.assignee_id, CASE WHEN moved.asker_id <> moved.user_id THEN moved.user_id END,
            CASE TG_OP WHEN 'INSERT' THEN 1 ELSE -1 END);
    RETURN NULL;
END $$;
CREATE TRIGGER tally_asked AFTER INSERT ON questions
    FOR EACH ROW WHEN (NEW.state = 'open' AND NEW.turn_id IS NULL) EXECUTE FUNCTION tally_question();
CREATE TRIGGER tally_settled AFTER UPDATE ON questions
    FOR EACH ROW WHEN (OLD.state = 'open' AND NEW.state <> 'open' AND NEW.turn_id IS NULL) EXECUTE FUNCTION tally_question();
CREATE TRIGGER tally_removed AFTER DELETE ON questions
    FOR EACH ROW WHEN (OLD.state = 'open' AND OLD.turn_id IS NULL) EXECUTE FUNCTION tally_question();

INSERT INTO question_tallies (project_id, assignee_id, agent_of, open, folded)
    SELECT project_id, assignee_id, CASE WHEN asker_id <> user_id THEN user_id END, count(*), true
      FROM questions WHERE state = 'open' AND turn_id IS NULL
     GROUP BY 1, 2, 3;
