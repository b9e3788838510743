-- Standing approvals: a person approves a narrow kind of change in advance, for one conversation or one of their tokens. It stands for the
-- press of Confirm and for nothing else.

CREATE TYPE approval_state AS ENUM ('active', 'used_up', 'revoked', 'expired');

CREATE TABLE standing_approvals (
    id            uuid PRIMARY KEY,
    workspace_id  uuid NOT NULL,
    project_id    uuid NOT NULL,
    user_id       uuid NOT NULL,
    thread_id     uuid,
    token_id      uuid,
    state         approval_state NOT NULL DEFAULT 'active',
    cover         jsonb NOT NULL CHECK (jsonb_typeof(cover) = 'object'),
    most_uses     integer NOT NULL CHECK (most_uses BETWEEN 1 AND 1000),
    most_per_day  integer CHECK (most_per_day BETWEEN 1 AND 1000),
    uses          integer NOT NULL DEFAULT 0,
    used_at       timestamptz[] NOT NULL DEFAULT '{}',
    made_at       timestamptz NOT NULL DEFAULT now(),
    expires_at    timestamptz NOT NULL,
    ended_at      timestamptz,
    revoked_by    uuid,
    made_command  uuid NOT NULL,
    moved_command uuid,
    trace         text,
    FOREIGN KEY (workspace_id, project_id) REFERENCES projects (workspace_id, id) ON DELETE CASCADE,
    CHECK (num_nonnulls(thread_id, token_id) = 1),
    CHECK (uses BETWEEN 0 AND most_uses),
    CHECK ((state = 'used_up') <= (uses = most_uses)),
    CHECK (state <> 'active' OR uses < most_uses),
    CHECK ((ended_at IS NOT NULL) = (state <> 'active')),
    CHECK (revoked_by IS NULL OR state = 'revoked'),
    CHECK (expires_at > made_at AND expires_at <= made_at + interval '30 days')
);
CREATE INDEX standing_approvals_newest ON standing_approvals (workspace_id, made_at, id);
CREATE INDEX standing_approvals_thread ON standing_approvals (thread_id) WHERE state = 'active' AND thread_id IS NOT NULL;
CREATE INDEX standing_approvals_token ON standing_approvals (token_id) WHERE state = 'active' AND token_id IS NOT NULL;
CREATE INDEX standing_approvals_maker ON standing_approvals (user_id) WHERE state = 'active';
CREATE INDEX standing_approvals_due ON standing_approvals (expires_at) WHERE state = 'active';
COMMENT ON TABLE standing_approvals IS 'writer: action-applier; expiry (state, ended_at, trace). A kind of change that a person approved in advance.';
COMMENT ON COLUMN standing_approvals.cover IS 'Collection, kinds, fields with their limits, most records at once. Never changed: another cover is another approval.';
COMMENT ON COLUMN standing_approvals.used_at IS 'When it was last used, `most_per_day` times at most, the latest last: so the limit holds for any 24 hours.';
COMMENT ON COLUMN standing_approvals.revoked_by IS 'Who revoked it; null where its conversation, token or maker is gone.';

CREATE TRIGGER log_made AFTER INSERT ON standing_approvals
    FOR EACH ROW EXECUTE FUNCTION log_change('standing_approval', 'made', '');
CREATE TRIGGER log_moved AFTER UPDATE ON standing_approvals
    FOR EACH ROW WHEN (OLD.state IS DISTINCT FROM NEW.state) EXECUTE FUNCTION log_change('standing_approval', '', '');
CREATE TRIGGER log_used AFTER UPDATE ON standing_approvals
    FOR EACH ROW WHEN (OLD.state = NEW.state AND OLD.uses <> NEW.uses) EXECUTE FUNCTION log_change('standing_approval', 'used', '');

ALTER TABLE actions
    ADD COLUMN approval_id uuid,
    ADD COLUMN weighed_at timestamptz,
    ADD CHECK (approval_id IS NULL OR decided_by IS NOT NULL AND state <> 'rejected' AND decisions IS NULL);
CREATE INDEX actions_approval ON actions (approval_id, proposed_at) WHERE approval_id IS NOT NULL;
COMMENT ON COLUMN actions.approval_id IS 'The standing approval that confirmed it; `decided_by` is who made that.';
COMMENT ON COLUMN actions.weighed_at IS 'When the standing approvals for its conversation or token were looked at, which happens once.';

CREATE OR REPLACE VIEW actions_now AS
    SELECT a.id, a.workspace_id, a.project_id, a.user_id, a.token_id, a.proposer_id, a.thread_id, a.turn_id, a.dedupe_key,
           CASE WHEN a.state = 'pending' AND a.expires_at <= now() THEN 'expired' ELSE a.state END AS state,
           a.summary, a.headline, a.digest, a.proposed_at, a.expires_at, a.decided_at, a.decided_by, a.reason,
           CASE WHEN a.state = 'pending' AND a.expires_at <= now() THEN a.expires_at ELSE a.settled_at END AS settled_at,
           a.untold, a.approval_id
      FROM actions a;

ALTER TABLE audit_log
    DROP CONSTRAINT audit_log_via_check,
    ADD CHECK (via IN ('session', 'token', 'command-line', 'service', 'standing-approval'));

-- What could confirm a proposal by its place alone: the maker proposed it themselves, in that conversation by the assistant's call, or with
-- that token, which still works; and the approval was there before. Asked when the proposal is weighed, and again when it is confirmed.
CREATE VIEW approvals_of_actions AS
    SELECT a.id AS action_id, s.id AS approval_id
      FROM actions a
      JOIN standing_approvals s
        ON s.workspace_id = a.workspace_id AND s.project_id = a.project_id AND s.user_id = a.user_id AND s.made_at <= a.proposed_at
       AND (s.thread_id = a.thread_id AND a.proposer_id = a.user_id AND a.call_id IS NOT NULL OR s.token_id = a.token_id)
      LEFT JOIN tokens t ON t.id = s.token_id
     WHERE s.token_id IS NULL OR t.state = 'active' AND (t.expires_at IS NULL OR t.expires_at > now());
COMMENT ON VIEW approvals_of_actions IS 'Which standing approvals were made for the conversation or token that an action came from, whatever they cover.';

-- An approval is made only for a conversation, token and membership that are there; their rows are locked, so that none of them goes meanwhile.
CREATE FUNCTION refuse_without_scope() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
    SET search_path = pg_catalog, askbus, pg_temp AS $$
BEGIN
    PERFORM FROM memberships WHERE workspace_id = NEW.workspace_id AND user_id = NEW.user_id FOR SHARE;
    IF FOUND AND NEW.thread_id IS NOT NULL THEN
        PERFORM FROM threads WHERE id = NEW.thread_id FOR KEY SHARE;
    ELSIF FOUND THEN
        PERFORM FROM tokens WHERE id = NEW.token_id AND state = 'active' FOR SHARE;
    END IF;
    RETURN CASE WHEN FOUND THEN NEW END;
END $$;
CREATE TRIGGER refuse_without_scope BEFORE INSERT ON standing_approvals
    FOR EACH ROW EXECUTE FUNCTION refuse_without_scope();

-- And it ends with them. Whoever follows is told.
CREATE FUNCTION end_approvals() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
    SET search_path = pg_catalog, askbus, pg_temp AS $$
DECLARE
    gone uuid[];
BEGIN
    IF TG_ARGV[0] = 'thread' THEN
        gone := ARRAY(SELECT id FROM standing_approvals WHERE state = 'active' AND thread_id = OLD.id);
    ELSIF TG_ARGV[0] = 'token' THEN
        gone := ARRAY(SELECT id FROM standing_approvals WHERE state = 'active' AND token_id = OLD.id);
    ELSE
        gone := ARRAY(SELECT id FROM standing_approvals
                       WHERE state = 'active' AND workspace_id = OLD.workspace_id AND user_id = OLD.user_id);
    END IF;
    WITH ended AS (
        UPDATE standing_approvals SET state = 'revoked', ended_at = now(), trace = OLD.trace
         WHERE id = ANY (gone) AND state = 'active'
        RETURNING *)
    INSERT INTO audit_log (workspace_id, project_id, via, event, entity, entity_id)
    SELECT workspace_id, project_id, 'service', 'standing_approval.revoked', 'standing_approval', id FROM ended;
    RETURN NULL;
END $$;
CREATE TRIGGER end_approvals AFTER DELETE ON threads
    FOR EACH ROW EXECUTE FUNCTION end_approvals('thread');
CREATE TRIGGER end_approvals AFTER UPDATE ON tokens
    FOR EACH ROW WHEN (OLD.state = 'active' AND NEW.state <> 'active') EXECUTE FUNCTION end_approvals('token');
CREATE TRIGGER end_approvals_removed AFTER DELETE ON tokens
    FOR EACH ROW EXECUTE FUNCTION end_approvals('token');
CREATE TRIGGER end_approvals AFTER DELETE ON memberships
    FOR EACH ROW EXECUTE FUNCTION end_approvals('member');
