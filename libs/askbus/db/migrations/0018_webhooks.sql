-- Outgoing webhooks: where to send word of what happened, what is still to be sent, and what became of each attempt.

CREATE TYPE webhook_state AS ENUM ('active', 'disabled');
CREATE TYPE delivery_state AS ENUM ('pending', 'delivered', 'failed', 'held');

CREATE TABLE webhooks (
    id              uuid PRIMARY KEY,
    workspace_id    uuid NOT NULL REFERENCES workspaces ON DELETE CASCADE,
    project_id      uuid,
    url             text NOT NULL CHECK (url ~ '^https?://' AND length(url) <= 2000),
    events          text[] NOT NULL CHECK (cardinality(events) BETWEEN 1 AND 100),
    state           webhook_state NOT NULL DEFAULT 'active',
    reason          text CHECK (reason IN ('switched_off', 'gone', 'failing')),
    failing_since   timestamptz,
    secret          bytea NOT NULL,
    old_secret      bytea,
    old_until       timestamptz,
    created_by      uuid,
    created_at      timestamptz NOT NULL DEFAULT now(),
    secret_command  uuid NOT NULL,
    trace           text,
    FOREIGN KEY (workspace_id, project_id) REFERENCES projects (workspace_id, id) ON DELETE CASCADE,
    CHECK ((state = 'disabled') = (reason IS NOT NULL)),
    CHECK ((old_secret IS NULL) = (old_until IS NULL))
);
CREATE INDEX webhooks_workspace ON webhooks (workspace_id);
CREATE INDEX webhooks_project ON webhooks (project_id) WHERE project_id IS NOT NULL;
COMMENT ON TABLE webhooks IS 'writer: question-broker. An address that is told what happens in a workspace, or in one project of it.';
COMMENT ON COLUMN webhooks.secret IS 'What requests are signed with, sealed under the deployment''s key for this row (I9).';
COMMENT ON COLUMN webhooks.old_secret IS 'The secret before the last rotation: until `old_until` requests are signed with it too.';
COMMENT ON COLUMN webhooks.reason IS 'Why it is disabled: by an admin, because it answered 410 Gone, or because nothing arrived there for days.';
COMMENT ON COLUMN webhooks.failing_since IS 'When the first attempt failed of those since the last that did not.';
COMMENT ON COLUMN webhooks.secret_command IS 'The command that made the secret: the same command sent again gets the same secret.';

CREATE TABLE webhook_deliveries (
    id            uuid PRIMARY KEY,
    webhook_id    uuid NOT NULL REFERENCES webhooks ON DELETE CASCADE,
    workspace_id  uuid NOT NULL,
    project_id    uuid,
    event         text NOT NULL,
    entity_id     uuid NOT NULL,
    status        text NOT NULL,
    assignee_id   uuid,
    occurred_at   timestamptz NOT NULL,
    state         delivery_state NOT NULL,
    attempts      integer NOT NULL DEFAULT 0,
    failures      integer NOT NULL DEFAULT 0,
    due_at        timestamptz NOT NULL DEFAULT now(),
    leased        boolean NOT NULL DEFAULT false,
    settled_at    timestamptz,
    CHECK ((settled_at IS NULL) = (state = 'pending'))
);
CREATE INDEX webhook_deliveries_due ON webhook_deliveries (webhook_id, due_at) WHERE state = 'pending';
CREATE INDEX webhook_deliveries_leased ON webhook_deliveries (webhook_id, due_at) WHERE state = 'pending' AND leased;
CREATE INDEX webhook_deliveries_newest ON webhook_deliveries (webhook_id, occurred_at, id);
CREATE INDEX webhook_deliveries_old ON webhook_deliveries (settled_at) WHERE settled_at IS NOT NULL;
COMMENT ON TABLE webhook_deliveries IS 'writer: question-broker; expiry (settled_at). One event for one webhook, by ids and state; its id is the webhook-id of every attempt.';
COMMENT ON COLUMN webhook_deliveries.state IS 'held: not sent, because the webhook was disabled; a replay sends it.';
COMMENT ON COLUMN webhook_deliveries.failures IS 'Attempts that failed since it was recorded or replayed.';
COMMENT ON COLUMN webhook_deliveries.due_at IS 'When it may be sent next. While it is leased: when the lease ends.';

CREATE TABLE webhook_attempts (
    delivery_id  uuid NOT NULL REFERENCES webhook_deliveries ON DELETE CASCADE,
    attempt      integer NOT NULL,
    at           timestamptz NOT NULL DEFAULT now(),
    status       integer,
    error        text,
    duration_ms  integer,
    PRIMARY KEY (delivery_id, attempt),
    CHECK (status IS NULL OR error IS NULL)
);
COMMENT ON TABLE webhook_attempts IS 'writer: question-broker. A request that was sent, and what came of it: a status or a word for what failed; neither where its worker died.';

-- A note to admins, on their streams.
CREATE FUNCTION log_webhook() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
    SET search_path = pg_catalog, askbus, pg_temp AS $$
BEGIN
    INSERT INTO change_log (fact, entity, entity_id, status, workspace_id, project_id, trace)
    VALUES ('webhook.' || NEW.state::text, 'webhook', NEW.id, NEW.state::text, NEW.workspace_id, NEW.project_id, NEW.trace);
    RETURN NULL;
END $$;

CREATE TRIGGER log_moved AFTER UPDATE ON webhooks
    FOR EACH ROW WHEN (OLD.state IS DISTINCT FROM NEW.state) EXECUTE FUNCTION log_webhook();
