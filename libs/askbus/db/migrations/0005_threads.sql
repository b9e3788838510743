-- Threads that end: deleted with all that they own, temporary ones, the bound of what is kept.

ALTER TABLE threads
    ADD COLUMN temporary boolean NOT NULL DEFAULT false,
    ADD COLUMN idle_limit interval CHECK (idle_limit > interval '0'),
    ADD COLUMN expires_at timestamptz
        GENERATED ALWAYS AS (((updated_at AT TIME ZONE 'UTC') + idle_limit) AT TIME ZONE 'UTC') STORED,
    ADD COLUMN measured bigint NOT NULL DEFAULT 0,
    ADD COLUMN dropped_turns integer NOT NULL DEFAULT 0,
    ADD COLUMN dropped_messages bigint NOT NULL DEFAULT 0,
    ADD CHECK (NOT temporary OR idle_limit IS NOT NULL);
CREATE INDEX threads_due ON threads (expires_at) WHERE expires_at IS NOT NULL;
CREATE INDEX threads_own ON threads (user_id, id);
COMMENT ON TABLE threads IS 'writer: agent-loop; expiry (trace). A conversation of one user. `revision` numbers its messages.';
COMMENT ON COLUMN threads.temporary IS 'In no list and no search, until it is saved.';
COMMENT ON COLUMN threads.idle_limit IS 'How long it is kept without a message; null: until its user deletes it.';
COMMENT ON COLUMN threads.measured IS 'Its revision when what is kept of it was last measured against the bound.';
COMMENT ON COLUMN threads.dropped_turns IS 'How many of its oldest turns went because more is not kept of one thread.';

-- A turn that another repeats goes without a look at every other turn.
CREATE INDEX turns_retry ON turns (retry_of) WHERE retry_of IS NOT NULL;

-- What a chat asked goes with its turn, and nothing is asked for a turn that is gone.
ALTER TABLE questions ADD FOREIGN KEY (turn_id) REFERENCES turns ON DELETE CASCADE;

-- A thread ends with all that it owns: what is at work is cancelled first, so that whoever works on it hears it. Actions that were
-- confirmed stay with their snapshots, what else was proposed goes. The turns are locked before anything is looked for: a question or a
-- proposal on its way has been stored by then, or finds its turn gone.
CREATE FUNCTION end_thread() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
    SET search_path = pg_catalog, askbus, pg_temp AS $$
BEGIN
    PERFORM FROM turns WHERE thread_id = OLD.id ORDER BY id FOR UPDATE;
    UPDATE turns
       SET state = 'cancelled', cancel_reason = 'stopped', settled_at = now(), moved_at = now(), holder = NULL, lease_until = NULL,
           trace = OLD.trace
     WHERE thread_id = OLD.id AND state IN ('queued', 'running', 'waiting');
    DELETE FROM actions WHERE thread_id = OLD.id AND state NOT IN ('confirmed', 'applied', 'undone');
    RETURN OLD;
END $$;
CREATE TRIGGER end_thread BEFORE DELETE ON threads
    FOR EACH ROW EXECUTE FUNCTION end_thread();

CREATE FUNCTION refuse_without_turn() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
    SET search_path = pg_catalog, askbus, pg_temp AS $$
BEGIN
    PERFORM FROM turns WHERE id = NEW.turn_id FOR KEY SHARE;
    RETURN CASE WHEN FOUND THEN NEW END;
END $$;
CREATE TRIGGER refuse_without_turn BEFORE INSERT ON actions
    FOR EACH ROW WHEN (NEW.turn_id IS NOT NULL) EXECUTE FUNCTION refuse_without_turn();
COMMENT ON COLUMN actions.turn_id IS 'The turn that proposed it. A confirmed action outlives its turn and its thread; none is made without.';

-- Whoever saw it is told that it is gone.
CREATE FUNCTION log_removal() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
    SET search_path = pg_catalog, askbus, pg_temp AS $$
DECLARE
    gone change_log;
BEGIN
    gone.user_id := OLD.user_id;
    IF TG_ARGV[0] <> 'thread' THEN
        gone.parent_id := OLD.turn_id;
        gone.user_id := CASE WHEN TG_ARGV[0] = 'question' AND OLD.turn_id IS NOT NULL THEN OLD.user_id END;
    END IF;
    INSERT INTO change_log (fact, entity, entity_id, status, workspace_id, project_id, user_id, parent_id, trace)
    VALUES (TG_ARGV[0] || '.' || TG_ARGV[1], TG_ARGV[0], OLD.id, TG_ARGV[1], OLD.workspace_id, OLD.project_id,
            gone.user_id, gone.parent_id, OLD.trace);
    IF TG_ARGV[0] = 'action' THEN
        INSERT INTO audit_log (workspace_id, project_id, via, event, entity, entity_id)
        VALUES (OLD.workspace_id, OLD.project_id, 'service', 'action.withdrawn', 'action', OLD.id);
    END IF;
    PERFORM pg_notify('askbus', '');
    RETURN NULL;
END $$;
CREATE TRIGGER log_deleted AFTER DELETE ON threads
    FOR EACH ROW EXECUTE FUNCTION log_removal('thread', 'deleted');
CREATE TRIGGER log_removed AFTER DELETE ON questions
    FOR EACH ROW WHEN (OLD.state = 'open') EXECUTE FUNCTION log_removal('question', 'cancelled');
CREATE TRIGGER log_removed AFTER DELETE ON actions
    FOR EACH ROW WHEN (OLD.state = 'pending') EXECUTE FUNCTION log_removal('action', 'withdrawn');
CREATE TRIGGER log_saved AFTER UPDATE ON threads
    FOR EACH ROW WHEN (OLD.temporary AND NOT NEW.temporary) EXECUTE FUNCTION log_change('thread', 'saved', 'personal');
