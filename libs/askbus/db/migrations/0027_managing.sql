-- Teams manage themselves: who leaves takes everything along, people are invited by link, and whoever manages is told.

-- Whatever opens a session or makes a token, it is for a member; their membership cannot go meanwhile.
CREATE FUNCTION refuse_without_membership() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
    SET search_path = pg_catalog, askbus, pg_temp AS $$
BEGIN
    PERFORM FROM memberships WHERE workspace_id = NEW.workspace_id AND user_id = NEW.user_id FOR KEY SHARE;
    RETURN CASE WHEN FOUND THEN NEW END;
END $$;
CREATE TRIGGER refuse_without_membership BEFORE INSERT ON sessions
    FOR EACH ROW EXECUTE FUNCTION refuse_without_membership();
CREATE TRIGGER refuse_without_membership BEFORE INSERT ON tokens
    FOR EACH ROW EXECUTE FUNCTION refuse_without_membership();

-- However a membership ends, the sessions and tokens of it end too: also one that was made in this very moment, which the statement that
-- removes the member may not have seen. Let in again, somebody signs in again.
CREATE FUNCTION end_credentials() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
    SET search_path = pg_catalog, askbus, pg_temp AS $$
BEGIN
    UPDATE sessions SET state = 'revoked', trace = OLD.trace
     WHERE workspace_id = OLD.workspace_id AND user_id = OLD.user_id AND state = 'active';
    UPDATE tokens SET state = 'revoked', trace = OLD.trace
     WHERE workspace_id = OLD.workspace_id AND user_id = OLD.user_id AND state = 'active';
    RETURN NULL;
END $$;
CREATE TRIGGER end_credentials AFTER DELETE ON memberships
    FOR EACH ROW EXECUTE FUNCTION end_credentials();

-- ---------------------------------------------------------------------------------------------------------------------
CREATE TYPE invitation_state AS ENUM ('pending', 'accepted', 'revoked', 'expired');

CREATE TABLE invitations (
    id            uuid PRIMARY KEY,
    workspace_id  uuid NOT NULL REFERENCES workspaces ON DELETE CASCADE,
    email         text NOT NULL CHECK (email LIKE '%_@_%' AND length(email) <= 320),
    role          role NOT NULL,
    demo          boolean NOT NULL DEFAULT false,
    projects      uuid[] NOT NULL DEFAULT '{}',
    hash          bytea NOT NULL UNIQUE CHECK (length(hash) = 32),
    state         invitation_state NOT NULL DEFAULT 'pending',
    invited_by    uuid NOT NULL REFERENCES users ON DELETE CASCADE,
    invited_at    timestamptz NOT NULL DEFAULT now(),
    expires_at    timestamptz NOT NULL,
    settled_at    timestamptz,
    user_id       uuid REFERENCES users ON DELETE SET NULL,
    trace         text,
    CHECK (NOT (demo AND role IN ('owner', 'admin'))),
    CHECK ((settled_at IS NOT NULL) = (state <> 'pending')),
    CHECK (user_id IS NULL OR state = 'accepted'),
    CHECK (expires_at > invited_at AND expires_at <= invited_at + interval '30 days')
);
CREATE UNIQUE INDEX invitations_pending ON invitations (workspace_id, lower(email)) WHERE state = 'pending';
CREATE INDEX invitations_due ON invitations (expires_at) WHERE state = 'pending';
CREATE INDEX invitations_email ON invitations (lower(email)) WHERE state = 'pending';
CREATE INDEX invitations_workspace ON invitations (workspace_id, id);
CREATE INDEX invitations_inviter ON invitations (invited_by);
CREATE INDEX invitations_user ON invitations (user_id) WHERE user_id IS NOT NULL;
COMMENT ON TABLE invitations IS 'writer: gateway; expiry (state, settled_at). Who may join a workspace by a link; only the SHA-256 of its code is kept.';
COMMENT ON COLUMN invitations.invited_by IS 'Who sent the link last. It counts while they may still invite for this role.';
COMMENT ON COLUMN invitations.projects IS 'What a member or viewer sees from the beginning: those of them that still exist then.';

-- ---------------------------------------------------------------------------------------------------------------------
-- For those who manage. Arguments: entity, the column of its id, the column of its workspace.
CREATE FUNCTION log_managed() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
    SET search_path = pg_catalog, askbus, pg_temp AS $$
DECLARE
    moved jsonb := to_jsonb(CASE WHEN TG_OP = 'DELETE' THEN OLD ELSE NEW END);
    word  text := CASE TG_OP WHEN 'DELETE' THEN 'removed' WHEN 'INSERT' THEN 'added' ELSE 'changed' END;
BEGIN
    IF TG_ARGV[0] = 'invitation' THEN
        word := moved ->> 'state';
    END IF;
    INSERT INTO change_log (fact, entity, entity_id, status, workspace_id, trace)
    VALUES (TG_ARGV[0] || '.' || word, TG_ARGV[0], (moved ->> TG_ARGV[1])::uuid, word, (moved ->> TG_ARGV[2])::uuid,
            moved ->> 'trace');
    RETURN NULL;
END $$;
CREATE TRIGGER log_managed AFTER INSERT OR DELETE ON memberships
    FOR EACH ROW EXECUTE FUNCTION log_managed('member', 'user_id', 'workspace_id');
CREATE TRIGGER log_managed_change AFTER UPDATE ON memberships
    FOR EACH ROW WHEN ((OLD.role, OLD.demo) IS DISTINCT FROM (NEW.role, NEW.demo))
    EXECUTE FUNCTION log_managed('member', 'user_id', 'workspace_id');
CREATE TRIGGER log_managed AFTER INSERT OR DELETE ON project_members
    FOR EACH ROW EXECUTE FUNCTION log_managed('member', 'user_id', 'workspace_id');
CREATE TRIGGER log_managed AFTER INSERT OR DELETE ON projects
    FOR EACH ROW EXECUTE FUNCTION log_managed('project', 'id', 'workspace_id');
CREATE TRIGGER log_managed_change AFTER UPDATE ON projects
    FOR EACH ROW WHEN (OLD.* IS DISTINCT FROM NEW.*) EXECUTE FUNCTION log_managed('project', 'id', 'workspace_id');
CREATE TRIGGER log_managed_change AFTER UPDATE ON workspaces
    FOR EACH ROW WHEN (OLD.* IS DISTINCT FROM NEW.*) EXECUTE FUNCTION log_managed('workspace', 'id', 'id');
CREATE TRIGGER log_managed AFTER INSERT ON invitations
    FOR EACH ROW EXECUTE FUNCTION log_managed('invitation', 'id', 'workspace_id');
CREATE TRIGGER log_managed_change AFTER UPDATE ON invitations
    FOR EACH ROW WHEN ((OLD.state, OLD.expires_at) IS DISTINCT FROM (NEW.state, NEW.expires_at))
    EXECUTE FUNCTION log_managed('invitation', 'id', 'workspace_id');
