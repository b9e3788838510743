-- The ground: who may act, the change feed, questions.
-- Each table's comment names its one writer; grants are generated from it (askbus.db.grants).

CREATE TYPE role AS ENUM ('owner', 'admin', 'member', 'viewer');
CREATE TYPE credential_state AS ENUM ('active', 'revoked', 'expired');

CREATE TABLE workspaces (
    id          uuid PRIMARY KEY,
    name        text NOT NULL UNIQUE CHECK (name <> '' AND length(name) <= 200),
    demo_chat   boolean NOT NULL DEFAULT false,
    created_at  timestamptz NOT NULL DEFAULT now()
);
COMMENT ON TABLE workspaces IS 'writer: gateway. A team; everything belongs to exactly one.';
COMMENT ON COLUMN workspaces.demo_chat IS 'Whether demo users may chat.';

CREATE TABLE projects (
    id            uuid PRIMARY KEY,
    workspace_id  uuid NOT NULL REFERENCES workspaces ON DELETE CASCADE,
    name          text NOT NULL CHECK (name <> '' AND length(name) <= 200),
    created_at    timestamptz NOT NULL DEFAULT now(),
    UNIQUE (workspace_id, name),
    UNIQUE (workspace_id, id)
);
COMMENT ON TABLE projects IS 'writer: gateway. The unit of access inside a workspace.';

CREATE TABLE users (
    id          uuid PRIMARY KEY,
    email       text NOT NULL CHECK (email LIKE '%_@_%' AND length(email) <= 320),
    name        text NOT NULL CHECK (name <> '' AND length(name) <= 200),
    created_at  timestamptz NOT NULL DEFAULT now()
);
CREATE UNIQUE INDEX users_email ON users (lower(email));
COMMENT ON TABLE users IS 'writer: gateway. A person.';

CREATE TABLE memberships (
    workspace_id  uuid NOT NULL REFERENCES workspaces ON DELETE CASCADE,
    user_id       uuid NOT NULL REFERENCES users ON DELETE CASCADE,
    role          role NOT NULL,
    demo          boolean NOT NULL DEFAULT false,
    trace         text,
    PRIMARY KEY (workspace_id, user_id),
    CHECK (NOT (demo AND role IN ('owner', 'admin')))
);
CREATE INDEX memberships_user ON memberships (user_id);
COMMENT ON TABLE memberships IS 'writer: gateway. A user''s role in a workspace.';

CREATE TABLE project_members (
    workspace_id  uuid NOT NULL,
    project_id    uuid NOT NULL,
    user_id       uuid NOT NULL,
    trace         text,
    PRIMARY KEY (project_id, user_id),
    FOREIGN KEY (workspace_id, project_id) REFERENCES projects (workspace_id, id) ON DELETE CASCADE,
    FOREIGN KEY (workspace_id, user_id) REFERENCES memberships ON DELETE CASCADE
);
CREATE INDEX project_members_user ON project_members (user_id);
COMMENT ON TABLE project_members IS 'writer: gateway. Which members and viewers see a project; owners and admins see all.';

CREATE VIEW project_access AS
    SELECT m.user_id, m.workspace_id, p.id AS project_id, m.role, m.demo,
           m.role <> 'viewer' AND NOT m.demo AS may_write
      FROM memberships m
      JOIN projects p USING (workspace_id)
     WHERE m.role IN ('owner', 'admin')
        OR EXISTS (SELECT FROM project_members pm WHERE pm.project_id = p.id AND pm.user_id = m.user_id);
COMMENT ON VIEW project_access IS 'Who sees which project now, and whether they may write there. Every query that serves a principal joins it.';

CREATE TABLE sessions (
    id            uuid PRIMARY KEY,
    workspace_id  uuid NOT NULL REFERENCES workspaces ON DELETE CASCADE,
    user_id       uuid NOT NULL REFERENCES users ON DELETE CASCADE,
    hash          bytea NOT NULL UNIQUE CHECK (length(hash) = 32),
    state         credential_state NOT NULL DEFAULT 'active',
    created_at    timestamptz NOT NULL DEFAULT now(),
    expires_at    timestamptz NOT NULL,
    trace         text
);
CREATE INDEX sessions_due ON sessions (expires_at) WHERE state = 'active';
COMMENT ON TABLE sessions IS 'writer: gateway; expiry (state). A signed-in browser; only the SHA-256 of its cookie is kept.';

CREATE TABLE login_links (
    id            uuid PRIMARY KEY,
    workspace_id  uuid NOT NULL,
    user_id       uuid NOT NULL,
    hash          bytea NOT NULL UNIQUE CHECK (length(hash) = 32),
    created_at    timestamptz NOT NULL DEFAULT now(),
    expires_at    timestamptz NOT NULL,
    used_at       timestamptz,
    FOREIGN KEY (workspace_id, user_id) REFERENCES memberships ON DELETE CASCADE
);
COMMENT ON TABLE login_links IS 'writer: gateway. One-time sign-in links; only the SHA-256 of the code is kept.';

CREATE TABLE tokens (
    id            uuid PRIMARY KEY,
    workspace_id  uuid NOT NULL REFERENCES workspaces ON DELETE CASCADE,
    user_id       uuid NOT NULL REFERENCES users ON DELETE CASCADE,
    name          text NOT NULL CHECK (name <> '' AND length(name) <= 200),
    prefix        text NOT NULL,
    hash          bytea NOT NULL UNIQUE CHECK (length(hash) = 32),
    scopes        text[] NOT NULL CHECK (NOT 'actions:confirm' = ANY (scopes)),
    projects      uuid[],
    state         credential_state NOT NULL DEFAULT 'active',
    created_at    timestamptz NOT NULL DEFAULT now(),
    expires_at    timestamptz,
    last_used_at  timestamptz,
    trace         text
);
CREATE INDEX tokens_user ON tokens (user_id);
CREATE INDEX tokens_due ON tokens (expires_at) WHERE state = 'active' AND expires_at IS NOT NULL;
COMMENT ON TABLE tokens IS 'writer: gateway; expiry (state). API tokens, shown once; only the SHA-256 is kept. `projects` null means all of the user''s.';

CREATE TABLE audit_log (
    id            uuid PRIMARY KEY DEFAULT uuidv7(),
    at            timestamptz NOT NULL DEFAULT now(),
    workspace_id  uuid NOT NULL,
    project_id    uuid,
    user_id       uuid,
    via           text NOT NULL CHECK (via IN ('session', 'token', 'command-line', 'service')),
    via_id        uuid,
    event         text NOT NULL,
    entity        text NOT NULL,
    entity_id     uuid NOT NULL
);
CREATE INDEX audit_log_workspace ON audit_log (workspace_id, at);
COMMENT ON TABLE audit_log IS 'writer: all, INSERT only. Who did what to which id, and when; never any content.';

-- ---------------------------------------------------------------------------------------------------------------------
-- The change feed: one log, written by triggers in the transaction of the change itself, read through a snapshot cursor.

CREATE TABLE change_log (
    seq           bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    xid           xid8 NOT NULL DEFAULT pg_current_xact_id(),
    at            timestamptz NOT NULL DEFAULT now(),
    fact          text NOT NULL,
    entity        text NOT NULL,
    entity_id     uuid NOT NULL,
    status        text NOT NULL,
    workspace_id  uuid NOT NULL,
    project_id    uuid,
    user_id       uuid,
    assignee_id   uuid,
    parent_id     uuid,
    trace         text
);
CREATE INDEX change_log_xid ON change_log (xid);
CREATE INDEX change_log_at ON change_log (at);
COMMENT ON TABLE change_log IS 'writer: triggers. What became true, by id and state, never by content.';
COMMENT ON COLUMN change_log.user_id IS 'Set when only this user may see it; null when everyone in the project may.';
COMMENT ON COLUMN change_log.parent_id IS 'What the entity belongs to: the turn of a tool call, the turn that a question holds up.';

CREATE TABLE feed (
    one     boolean PRIMARY KEY DEFAULT true CHECK (one),
    epoch   text NOT NULL,
    pruned  xid8 NOT NULL DEFAULT '0'
);
COMMENT ON TABLE feed IS 'writer: expiry. The log''s lineage, and the newest transaction whose rows were pruned from it.';
INSERT INTO feed (epoch) VALUES (substr(md5(gen_random_uuid()::text), 1, 6));

CREATE TABLE relays (
    owner        text PRIMARY KEY,
    cursor       text NOT NULL,
    holder       uuid,
    lease_until  timestamptz
);
COMMENT ON TABLE relays IS 'writer: agent-loop, tool-runner, action-applier, question-broker. How far each owner''s facts have reached JetStream.';
INSERT INTO relays (owner, cursor)
    SELECT owner, pg_current_snapshot()::text
      FROM unnest(ARRAY['agent-loop', 'tool-runner', 'action-applier', 'question-broker']) AS owner;

-- Entities that people follow. Arguments: entity, the fact's word (the new state where absent), 'personal' when only its user may see it.
CREATE FUNCTION log_change() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
    SET search_path = pg_catalog, askbus, pg_temp AS $$
BEGIN
    INSERT INTO change_log (fact, entity, entity_id, status, workspace_id, project_id, user_id, trace)
    VALUES (TG_ARGV[0] || '.' || coalesce(nullif(TG_ARGV[1], ''), NEW.state::text), TG_ARGV[0], NEW.id, NEW.state::text,
            NEW.workspace_id, NEW.project_id, CASE WHEN TG_ARGV[2] = 'personal' THEN NEW.user_id END, NEW.trace);
    PERFORM pg_notify('askbus', '');
    RETURN NULL;
END $$;

CREATE FUNCTION log_question() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
    SET search_path = pg_catalog, askbus, pg_temp AS $$
BEGIN
    INSERT INTO change_log (fact, entity, entity_id, status, workspace_id, project_id, user_id, assignee_id, parent_id, trace)
    VALUES ('question.' || coalesce(TG_ARGV[0], NEW.state::text), 'question', NEW.id, NEW.state::text, NEW.workspace_id,
            NEW.project_id, CASE WHEN NEW.turn_id IS NOT NULL THEN NEW.user_id END, NEW.assignee_id, NEW.turn_id, NEW.trace);
    PERFORM pg_notify('askbus', '');
    RETURN NULL;
END $$;

-- Sessions and tokens: seen by nobody, but the gateway ends their streams by it.
CREATE FUNCTION log_credential() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
    SET search_path = pg_catalog, askbus, pg_temp AS $$
DECLARE
    moved record := CASE WHEN TG_OP = 'DELETE' THEN OLD ELSE NEW END;
BEGIN
    INSERT INTO change_log (fact, entity, entity_id, status, workspace_id, user_id, trace)
    VALUES (TG_ARGV[0] || '.' || CASE WHEN TG_OP = 'DELETE' THEN 'revoked' ELSE moved.state::text END, TG_ARGV[0], moved.id,
            CASE WHEN TG_OP = 'DELETE' THEN 'revoked' ELSE moved.state::text END, moved.workspace_id, moved.user_id, moved.trace);
    PERFORM pg_notify('askbus', '');
    RETURN NULL;
END $$;

-- Memberships, of the workspace and of its projects: the gateway changes a user's set of projects by it.
CREATE FUNCTION log_membership() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
    SET search_path = pg_catalog, askbus, pg_temp AS $$
DECLARE
    moved record := CASE WHEN TG_OP = 'DELETE' THEN OLD ELSE NEW END;
    word  text := CASE TG_OP WHEN 'DELETE' THEN 'removed' WHEN 'INSERT' THEN 'added' ELSE 'changed' END;
BEGIN
    INSERT INTO change_log (fact, entity, entity_id, status, workspace_id, user_id, trace)
    VALUES ('membership.' || word, 'membership', moved.user_id, word, moved.workspace_id, moved.user_id, moved.trace);
    PERFORM pg_notify('askbus', '');
    RETURN NULL;
END $$;

CREATE TRIGGER log_membership AFTER INSERT OR DELETE ON memberships
    FOR EACH ROW EXECUTE FUNCTION log_membership();
CREATE TRIGGER log_membership_change AFTER UPDATE ON memberships
    FOR EACH ROW WHEN ((OLD.role, OLD.demo) IS DISTINCT FROM (NEW.role, NEW.demo)) EXECUTE FUNCTION log_membership();
CREATE TRIGGER log_project_membership AFTER INSERT OR DELETE ON project_members
    FOR EACH ROW EXECUTE FUNCTION log_membership();

CREATE TRIGGER log_end AFTER UPDATE ON sessions
    FOR EACH ROW WHEN (OLD.state IS DISTINCT FROM NEW.state) EXECUTE FUNCTION log_credential('session');
CREATE TRIGGER log_removal AFTER DELETE ON sessions
    FOR EACH ROW WHEN (OLD.state = 'active') EXECUTE FUNCTION log_credential('session');
CREATE TRIGGER log_end AFTER UPDATE ON tokens
    FOR EACH ROW WHEN (OLD.state IS DISTINCT FROM NEW.state) EXECUTE FUNCTION log_credential('token');
CREATE TRIGGER log_removal AFTER DELETE ON tokens
    FOR EACH ROW WHEN (OLD.state = 'active') EXECUTE FUNCTION log_credential('token');

-- ---------------------------------------------------------------------------------------------------------------------
-- Questions.

CREATE TYPE question_state AS ENUM ('open', 'answered', 'declined', 'cancelled', 'expired', 'superseded');
CREATE TYPE priority AS ENUM ('low', 'normal', 'high', 'urgent');

CREATE TABLE questions (
    id             uuid PRIMARY KEY,
    workspace_id   uuid NOT NULL,
    project_id     uuid NOT NULL,
    user_id        uuid NOT NULL,
    token_id       uuid REFERENCES tokens ON DELETE SET NULL,
    asker_id       uuid NOT NULL,
    turn_id        uuid,
    call_id        uuid UNIQUE,
    dedupe_key     text CHECK (length(dedupe_key) <= 200),
    state          question_state NOT NULL DEFAULT 'open',
    title          text CHECK (length(title) <= 200),
    text           text NOT NULL CHECK (text <> '' AND length(text) <= 20000),
    options        jsonb NOT NULL DEFAULT '[]' CHECK (jsonb_typeof(options) = 'array'),
    multiple       boolean NOT NULL DEFAULT false,
    free_text      boolean NOT NULL DEFAULT true,
    answer_schema  jsonb,
    link           text,
    reference      text,
    priority       priority NOT NULL DEFAULT 'normal',
    assignee_id    uuid,
    asked_at       timestamptz NOT NULL DEFAULT now(),
    expires_at     timestamptz NOT NULL,
    settled_at     timestamptz,
    settled_by     uuid,
    answer         jsonb,
    reason         text CHECK (length(reason) <= 2000),
    superseded_by  uuid,
    note_count     integer NOT NULL DEFAULT 0,
    untold         integer NOT NULL DEFAULT 0,
    asked_command  uuid NOT NULL,
    moved_command  uuid,
    trace          text,
    FOREIGN KEY (workspace_id, project_id) REFERENCES projects (workspace_id, id) ON DELETE CASCADE,
    CHECK ((answer IS NOT NULL) = (state = 'answered')),
    CHECK ((settled_at IS NOT NULL) = (state <> 'open')),
    CHECK ((settled_by IS NOT NULL) = (state IN ('answered', 'declined'))),
    CHECK (superseded_by IS NULL OR state = 'superseded'),
    CHECK ((turn_id IS NULL) = (call_id IS NULL)),
    CHECK (expires_at > asked_at AND expires_at <= asked_at + interval '30 days')
);
CREATE UNIQUE INDEX questions_dedupe ON questions (asker_id, project_id, dedupe_key) WHERE dedupe_key IS NOT NULL;
CREATE INDEX questions_newest ON questions (workspace_id, asked_at, id);
CREATE INDEX questions_open ON questions (project_id, expires_at) WHERE state = 'open';
CREATE INDEX questions_due ON questions (expires_at) WHERE state = 'open';
CREATE INDEX questions_untold ON questions (token_id) WHERE untold > 0;
CREATE INDEX questions_turn ON questions (turn_id) WHERE turn_id IS NOT NULL;
COMMENT ON TABLE questions IS 'writer: question-broker; expiry (state, settled_at, untold, trace). Something that an agent wants a person to answer.';
COMMENT ON COLUMN questions.asker_id IS 'Whose dedupe keys these are: the token that asked, else the user.';
COMMENT ON COLUMN questions.untold IS 'How many outcomes and notes the asking token has not acknowledged yet.';
COMMENT ON COLUMN questions.moved_command IS 'The command that settled it: the same command sent again gets the same success.';

CREATE TABLE question_notes (
    id           uuid PRIMARY KEY,
    question_id  uuid NOT NULL REFERENCES questions ON DELETE CASCADE,
    user_id      uuid NOT NULL,
    text         text NOT NULL CHECK (text <> '' AND length(text) <= 20000),
    at           timestamptz NOT NULL DEFAULT now()
);
CREATE INDEX question_notes_question ON question_notes (question_id);
COMMENT ON TABLE question_notes IS 'writer: question-broker. What a person asked back; the question stays open.';

CREATE TRIGGER log_asked AFTER INSERT ON questions
    FOR EACH ROW EXECUTE FUNCTION log_question('asked');
CREATE TRIGGER log_settled AFTER UPDATE ON questions
    FOR EACH ROW WHEN (OLD.state IS DISTINCT FROM NEW.state) EXECUTE FUNCTION log_question();
CREATE TRIGGER log_asked_back AFTER UPDATE ON questions
    FOR EACH ROW WHEN (OLD.note_count IS DISTINCT FROM NEW.note_count) EXECUTE FUNCTION log_question('asked_back');

CREATE VIEW question_viewers AS
    SELECT q.id AS question_id, a.user_id, a.project_id,
           a.may_write AND coalesce(q.assignee_id = a.user_id, true) AS may_answer
      FROM questions q
      JOIN project_access a USING (workspace_id, project_id)
     WHERE q.turn_id IS NULL OR q.user_id = a.user_id;
COMMENT ON VIEW question_viewers IS 'Who sees a question now, and whether they may answer it. A chat''s own question is its user''s alone.';

CREATE VIEW questions_now AS
    SELECT q.id, q.workspace_id, q.project_id, q.user_id, q.token_id, q.asker_id, q.turn_id, q.call_id,
           CASE WHEN q.state = 'open' AND q.expires_at <= now() THEN 'expired' ELSE q.state END AS state,
           q.title, q.text, q.options, q.multiple, q.free_text, q.answer_schema, q.link, q.reference, q.priority, q.assignee_id,
           q.dedupe_key, q.asked_at, q.expires_at,
           CASE WHEN q.state = 'open' AND q.expires_at <= now() THEN q.expires_at ELSE q.settled_at END AS settled_at,
           q.settled_by, q.answer, q.reason, q.superseded_by, q.note_count, q.untold
      FROM questions q;
COMMENT ON VIEW questions_now IS 'Questions as they read now: past its expiry one is expired, swept or not.';
