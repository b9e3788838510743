-- Threads, turns and their steps; tool calls and runs; actions and their undo.

CREATE TABLE threads (
    id            uuid PRIMARY KEY,
    workspace_id  uuid NOT NULL,
    project_id    uuid NOT NULL,
    user_id       uuid NOT NULL,
    state         text NOT NULL DEFAULT 'open' CHECK (state = 'open'),
    title         text NOT NULL CHECK (length(title) <= 200),
    title_given   boolean NOT NULL DEFAULT false,
    revision      bigint NOT NULL DEFAULT 0,
    created_at    timestamptz NOT NULL DEFAULT now(),
    updated_at    timestamptz NOT NULL DEFAULT now(),
    command_id    uuid NOT NULL UNIQUE,
    trace         text,
    FOREIGN KEY (workspace_id, project_id) REFERENCES projects (workspace_id, id) ON DELETE CASCADE
);
CREATE INDEX threads_user ON threads (user_id, updated_at);
COMMENT ON TABLE threads IS 'writer: agent-loop. A conversation of one user. `revision` numbers its messages.';

CREATE TYPE turn_state AS ENUM ('queued', 'running', 'waiting', 'completed', 'failed', 'cancelled');
CREATE TYPE cancel_reason AS ENUM ('stopped', 'superseded', 'interrupted');

CREATE TABLE turns (
    id                 uuid PRIMARY KEY,
    workspace_id       uuid NOT NULL,
    project_id         uuid NOT NULL,
    user_id            uuid NOT NULL,
    thread_id          uuid NOT NULL REFERENCES threads ON DELETE CASCADE,
    client_message_id  text NOT NULL CHECK (length(client_message_id) BETWEEN 1 AND 200),
    state              turn_state NOT NULL DEFAULT 'queued',
    step               integer NOT NULL DEFAULT 1,
    attempt            integer NOT NULL DEFAULT 0,
    holder             uuid,
    lease_until        timestamptz,
    model_calls        integer NOT NULL DEFAULT 0,
    active_ms          bigint NOT NULL DEFAULT 0,
    queued_at          timestamptz NOT NULL DEFAULT now(),
    moved_at           timestamptz NOT NULL DEFAULT now(),
    settled_at         timestamptz,
    error_code         text,
    cancel_reason      cancel_reason,
    superseded_by      uuid,
    moved_command      uuid,
    principal          jsonb NOT NULL,
    trace              text,
    UNIQUE (thread_id, client_message_id),
    CHECK ((settled_at IS NOT NULL) = (state IN ('completed', 'failed', 'cancelled'))),
    CHECK ((error_code IS NOT NULL) = (state = 'failed')),
    CHECK ((cancel_reason IS NOT NULL) = (state = 'cancelled')),
    CHECK (holder IS NULL OR state = 'running'),
    CHECK ((holder IS NULL) = (lease_until IS NULL))
);
CREATE UNIQUE INDEX turns_one_at_a_time ON turns (thread_id) WHERE state IN ('running', 'waiting');
CREATE INDEX turns_open ON turns (moved_at) WHERE state IN ('queued', 'running', 'waiting');
CREATE INDEX turns_thread ON turns (thread_id, queued_at);
COMMENT ON TABLE turns IS 'writer: agent-loop. The work from one user message to the final answer. `step` is the step to do next; a holder works on it until lease_until.';
COMMENT ON COLUMN turns.principal IS 'Who sent the message; access is read anew at each use.';

-- A turn's row decides about what it asked: from its end on a question of its own is over, also before the broker has settled it.
CREATE VIEW turn_ends AS
    SELECT id AS turn_id, settled_at,
           (CASE WHEN cancel_reason = 'superseded' THEN 'superseded' ELSE 'cancelled' END)::question_state AS question_state
      FROM turns
     WHERE state IN ('completed', 'failed', 'cancelled');
COMMENT ON VIEW turn_ends IS 'Turns that are over, and what that makes of a question of theirs that is still open.';

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
           q.settled_by, q.answer, q.reason, q.superseded_by, q.note_count, q.untold
      FROM questions q
      LEFT JOIN turn_ends e ON e.turn_id = q.turn_id;
COMMENT ON VIEW questions_now IS 'Questions as they read now: over with their time, and with the turn that asked, settled by a service or not.';

CREATE TABLE steps (
    turn_id      uuid NOT NULL REFERENCES turns ON DELETE CASCADE,
    number       integer NOT NULL,
    attempt      integer NOT NULL,
    kind         text NOT NULL CHECK (kind IN ('model', 'tools')),
    model        text,
    input_tokens   bigint,
    output_tokens  bigint,
    latency_ms   bigint,
    finished_at  timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (turn_id, number)
);
COMMENT ON TABLE steps IS 'writer: agent-loop. A finished model call with its usage, or a batch of tool calls.';

CREATE TABLE messages (
    id             uuid PRIMARY KEY,
    thread_id      uuid NOT NULL REFERENCES threads ON DELETE CASCADE,
    seq            bigint NOT NULL,
    turn_id        uuid NOT NULL REFERENCES turns ON DELETE CASCADE,
    step           integer,
    role           text NOT NULL CHECK (role IN ('user', 'assistant')),
    text           text NOT NULL,
    provider_data  jsonb,
    model          text,
    cut            text CHECK (cut IN ('stopped', 'failed', 'length')),
    created_at     timestamptz NOT NULL DEFAULT now(),
    UNIQUE (thread_id, seq),
    CHECK ((role = 'user') = (step IS NULL))
);
CREATE UNIQUE INDEX messages_step ON messages (turn_id, step);
CREATE UNIQUE INDEX messages_user ON messages (turn_id) WHERE step IS NULL;
COMMENT ON TABLE messages IS 'writer: agent-loop. What the user and the model said; results of tools stand in tool_runs.';

CREATE TABLE tool_calls (
    id             uuid PRIMARY KEY,
    workspace_id   uuid NOT NULL,
    project_id     uuid NOT NULL,
    user_id        uuid NOT NULL,
    turn_id        uuid NOT NULL REFERENCES turns ON DELETE CASCADE,
    step           integer NOT NULL,
    position       integer NOT NULL,
    state          text NOT NULL DEFAULT 'requested' CHECK (state IN ('requested', 'refused')),
    provider_id    text NOT NULL,
    name           text NOT NULL,
    arguments      text NOT NULL,
    refusal        text,
    extra          jsonb,
    requested_at   timestamptz NOT NULL DEFAULT now(),
    trace          text,
    UNIQUE (turn_id, step, position),
    CHECK ((refusal IS NOT NULL) = (state = 'refused'))
);
COMMENT ON TABLE tool_calls IS 'writer: agent-loop. What the model asked for, arguments as it wrote them. `refusal` is the error that it is told without running anything.';

CREATE TYPE tool_run_state AS ENUM ('started', 'succeeded', 'failed', 'asked', 'unknown');

CREATE TABLE tool_runs (
    id            uuid PRIMARY KEY REFERENCES tool_calls ON DELETE CASCADE,
    workspace_id  uuid NOT NULL,
    project_id    uuid NOT NULL,
    user_id       uuid NOT NULL,
    turn_id       uuid NOT NULL,
    state         tool_run_state NOT NULL DEFAULT 'started',
    attempt       integer NOT NULL DEFAULT 1,
    holder        uuid,
    lease_until   timestamptz,
    started_at    timestamptz NOT NULL DEFAULT now(),
    finished_at   timestamptz,
    result        jsonb,
    question_id   uuid,
    action_id     uuid,
    trace         text,
    CHECK ((finished_at IS NOT NULL) = (state <> 'started')),
    CHECK ((result IS NOT NULL) = (state IN ('succeeded', 'failed', 'unknown'))),
    CHECK ((question_id IS NOT NULL) = (state = 'asked')),
    CHECK ((holder IS NOT NULL) = (state = 'started')),
    CHECK ((lease_until IS NOT NULL) = (state = 'started'))
);
CREATE INDEX tool_runs_turn ON tool_runs (turn_id);
CREATE INDEX tool_runs_started ON tool_runs (lease_until) WHERE state = 'started';
COMMENT ON TABLE tool_runs IS 'writer: tool-runner. The run of a tool call; its id is the call''s.';

-- For the bus only: nobody's stream shows calls and runs, so no NOTIFY.
CREATE FUNCTION log_tool() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
    SET search_path = pg_catalog, askbus, pg_temp AS $$
BEGIN
    INSERT INTO change_log (fact, entity, entity_id, status, workspace_id, project_id, user_id, parent_id, trace)
    VALUES (TG_ARGV[0] || '.' || TG_ARGV[1], TG_ARGV[0], NEW.id, NEW.state::text, NEW.workspace_id, NEW.project_id,
            NEW.user_id, NEW.turn_id, NEW.trace);
    RETURN NULL;
END $$;

CREATE TRIGGER log_created AFTER INSERT ON threads
    FOR EACH ROW EXECUTE FUNCTION log_change('thread', 'created', 'personal');
CREATE TRIGGER log_renamed AFTER UPDATE ON threads
    FOR EACH ROW WHEN (OLD.title IS DISTINCT FROM NEW.title) EXECUTE FUNCTION log_change('thread', 'renamed', 'personal');
CREATE TRIGGER log_queued AFTER INSERT ON turns
    FOR EACH ROW EXECUTE FUNCTION log_change('turn', '', 'personal');
CREATE TRIGGER log_moved AFTER UPDATE ON turns
    FOR EACH ROW WHEN (OLD.state IS DISTINCT FROM NEW.state) EXECUTE FUNCTION log_change('turn', '', 'personal');
CREATE TRIGGER log_requested AFTER INSERT ON tool_calls
    FOR EACH ROW WHEN (NEW.state = 'requested') EXECUTE FUNCTION log_tool('tool_call', 'requested');
CREATE TRIGGER log_finished_at_once AFTER INSERT ON tool_runs
    FOR EACH ROW WHEN (NEW.state <> 'started') EXECUTE FUNCTION log_tool('tool_run', 'finished');
CREATE TRIGGER log_finished AFTER UPDATE ON tool_runs
    FOR EACH ROW WHEN (OLD.state IS DISTINCT FROM NEW.state) EXECUTE FUNCTION log_tool('tool_run', 'finished');

-- ---------------------------------------------------------------------------------------------------------------------
-- Actions.

CREATE TYPE action_state AS ENUM
    ('pending', 'confirmed', 'rejected', 'withdrawn', 'expired', 'applied', 'failed', 'conflicted', 'undone');
CREATE TYPE undo_state AS ENUM ('requested', 'done', 'refused');

CREATE TABLE actions (
    id              uuid PRIMARY KEY,
    workspace_id    uuid NOT NULL,
    project_id      uuid NOT NULL,
    user_id         uuid NOT NULL,
    token_id        uuid REFERENCES tokens ON DELETE SET NULL,
    proposer_id     uuid NOT NULL,
    thread_id       uuid,
    turn_id         uuid,
    call_id         uuid UNIQUE,
    dedupe_key      text CHECK (length(dedupe_key) <= 200),
    state           action_state NOT NULL DEFAULT 'pending',
    summary         text CHECK (length(summary) <= 500),
    headline        text NOT NULL CHECK (length(headline) <= 500),
    operations      jsonb NOT NULL CHECK (jsonb_typeof(operations) = 'array' AND jsonb_array_length(operations) BETWEEN 1 AND 100),
    digest          text NOT NULL,
    proposed_at     timestamptz NOT NULL DEFAULT now(),
    expires_at      timestamptz NOT NULL,
    decided_at      timestamptz,
    decided_by      uuid,
    reason          text CHECK (length(reason) <= 2000),
    settled_at      timestamptz,
    outcome         jsonb,
    untold          integer NOT NULL DEFAULT 0,
    woken_at        timestamptz,
    proposed_command  uuid NOT NULL,
    moved_command   uuid,
    trace           text,
    FOREIGN KEY (workspace_id, project_id) REFERENCES projects (workspace_id, id) ON DELETE CASCADE,
    CHECK (num_nulls(thread_id, turn_id, call_id) IN (0, 3)),
    CHECK (expires_at > proposed_at AND expires_at <= proposed_at + interval '30 days'),
    CHECK ((decided_by IS NOT NULL) = (state IN ('confirmed', 'rejected', 'applied', 'failed', 'conflicted', 'undone'))),
    CHECK ((decided_at IS NOT NULL) = (decided_by IS NOT NULL)),
    CHECK ((outcome IS NOT NULL) = (state IN ('applied', 'failed', 'conflicted', 'undone'))),
    CHECK ((settled_at IS NOT NULL) = (state NOT IN ('pending', 'confirmed')))
);
CREATE UNIQUE INDEX actions_dedupe ON actions (proposer_id, project_id, dedupe_key) WHERE dedupe_key IS NOT NULL;
CREATE INDEX actions_newest ON actions (workspace_id, proposed_at, id);
CREATE INDEX actions_pending ON actions (project_id, expires_at) WHERE state = 'pending';
CREATE INDEX actions_due ON actions (expires_at) WHERE state = 'pending';
CREATE INDEX actions_confirmed ON actions (decided_at) WHERE state = 'confirmed';
CREATE INDEX actions_thread ON actions (thread_id, proposed_at) WHERE thread_id IS NOT NULL;
CREATE INDEX actions_untold ON actions (token_id) WHERE untold > 0;
COMMENT ON TABLE actions IS 'writer: action-applier; expiry (state, settled_at, untold, trace). A proposed set of creates and updates.';
COMMENT ON COLUMN actions.proposer_id IS 'Whose dedupe keys these are: the token that proposed, else the user.';
COMMENT ON COLUMN actions.headline IS 'What it changes, in a line made from the operations; `summary` is the proposer''s own word.';
COMMENT ON COLUMN actions.untold IS 'How many outcomes the proposing token has not acknowledged yet.';
COMMENT ON COLUMN actions.woken_at IS 'When a sweep last took up this confirmed action because it had rested too long.';
COMMENT ON COLUMN actions.moved_command IS 'The command that decided it: the same command sent again gets the same success.';
COMMENT ON COLUMN actions.operations IS 'What was proposed and shown: per operation the record, the new values, and the old ones as they stood.';
COMMENT ON COLUMN actions.outcome IS 'Copied from the ledger in the records'' own database, which is the truth.';

CREATE TABLE undos (
    id            uuid PRIMARY KEY,
    workspace_id  uuid NOT NULL,
    project_id    uuid NOT NULL,
    user_id       uuid NOT NULL,
    action_id     uuid NOT NULL REFERENCES actions ON DELETE CASCADE,
    state         undo_state NOT NULL DEFAULT 'requested',
    requested_at  timestamptz NOT NULL DEFAULT now(),
    settled_at    timestamptz,
    outcome       jsonb,
    woken_at      timestamptz,
    command_id    uuid NOT NULL UNIQUE,
    trace         text,
    CHECK ((settled_at IS NOT NULL) = (state <> 'requested')),
    CHECK ((outcome IS NOT NULL) = (state <> 'requested'))
);
CREATE UNIQUE INDEX undos_one_at_a_time ON undos (action_id) WHERE state IN ('requested', 'done');
CREATE INDEX undos_action ON undos (action_id);
CREATE INDEX undos_requested ON undos (requested_at) WHERE state = 'requested';
COMMENT ON TABLE undos IS 'writer: action-applier. A request to undo an applied action; the action stays applied until it is done.';

CREATE FUNCTION log_undo() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
    SET search_path = pg_catalog, askbus, pg_temp AS $$
BEGIN
    INSERT INTO change_log (fact, entity, entity_id, status, workspace_id, project_id, parent_id, trace)
    VALUES ('action.undo_' || NEW.state::text, 'action', NEW.action_id, 'applied', NEW.workspace_id, NEW.project_id, NEW.id,
            NEW.trace);
    PERFORM pg_notify('askbus', '');
    RETURN NULL;
END $$;

-- Names the turn that proposed it, so that whoever watches the turn sees the action at once.
CREATE FUNCTION log_proposal() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
    SET search_path = pg_catalog, askbus, pg_temp AS $$
BEGIN
    INSERT INTO change_log (fact, entity, entity_id, status, workspace_id, project_id, parent_id, trace)
    VALUES ('action.proposed', 'action', NEW.id, NEW.state::text, NEW.workspace_id, NEW.project_id, NEW.turn_id, NEW.trace);
    PERFORM pg_notify('askbus', '');
    RETURN NULL;
END $$;

CREATE TRIGGER log_proposed AFTER INSERT ON actions
    FOR EACH ROW EXECUTE FUNCTION log_proposal();
CREATE TRIGGER log_moved AFTER UPDATE ON actions
    FOR EACH ROW WHEN (OLD.state IS DISTINCT FROM NEW.state) EXECUTE FUNCTION log_change('action', '', '');
CREATE TRIGGER log_requested AFTER INSERT ON undos
    FOR EACH ROW EXECUTE FUNCTION log_undo();
CREATE TRIGGER log_refused AFTER UPDATE ON undos
    FOR EACH ROW WHEN (OLD.state IS DISTINCT FROM NEW.state AND NEW.state = 'refused') EXECUTE FUNCTION log_undo();

CREATE VIEW actions_now AS
    SELECT a.id, a.workspace_id, a.project_id, a.user_id, a.token_id, a.proposer_id, a.thread_id, a.turn_id, a.dedupe_key,
           CASE WHEN a.state = 'pending' AND a.expires_at <= now() THEN 'expired' ELSE a.state END AS state,
           a.summary, a.headline, a.digest, a.proposed_at, a.expires_at, a.decided_at, a.decided_by, a.reason,
           CASE WHEN a.state = 'pending' AND a.expires_at <= now() THEN a.expires_at ELSE a.settled_at END AS settled_at,
           a.untold
      FROM actions a;
COMMENT ON VIEW actions_now IS 'Actions as they read now, without what they change: past its expiry a pending one is expired, swept or not.';
