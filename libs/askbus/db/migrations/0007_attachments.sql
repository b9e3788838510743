-- Files that people upload, the threads that they went to, and pictures that a tool made.
-- All rows are written once and never changed. Contents stand beside what is said of them, so that no list reads them.

CREATE TYPE attachment_kind AS ENUM ('image', 'pdf', 'text', 'csv');

CREATE TABLE attachments (
    id            uuid PRIMARY KEY,
    workspace_id  uuid NOT NULL,
    project_id    uuid NOT NULL,
    user_id       uuid NOT NULL,
    kind          attachment_kind NOT NULL,
    media_type    text NOT NULL CHECK (media_type IN ('image/png', 'image/jpeg', 'image/webp', 'image/gif', 'application/pdf',
                                                      'text/plain', 'text/csv')),
    name          text NOT NULL CHECK (name <> '' AND length(name) <= 200),
    size          integer NOT NULL CHECK (size > 0),
    encoding      text CHECK ((encoding IS NOT NULL) = (kind IN ('text', 'csv'))),
    pages         integer CHECK ((pages IS NOT NULL) = (kind = 'pdf')),
    has_text      boolean NOT NULL,
    excerpt       text NOT NULL DEFAULT '',
    command_id    uuid NOT NULL UNIQUE,
    created_at    timestamptz NOT NULL DEFAULT now(),
    expires_at    timestamptz NOT NULL DEFAULT now() + interval '24 hours',
    FOREIGN KEY (workspace_id, project_id) REFERENCES projects (workspace_id, id) ON DELETE CASCADE
);
CREATE INDEX attachments_user ON attachments (user_id);
CREATE INDEX attachments_due ON attachments (expires_at);
CREATE INDEX attachments_project ON attachments (workspace_id, project_id);
COMMENT ON TABLE attachments IS 'writer: gateway; expiry (expires_at). A file that a user uploaded. Unless it goes with a message before it expires, it is deleted.';
COMMENT ON COLUMN attachments.has_text IS 'Whether its text can be read piece by piece; a scanned PDF has none.';
COMMENT ON COLUMN attachments.excerpt IS 'Its first lines, as a prompt quotes them.';

CREATE TABLE attachment_contents (
    attachment_id  uuid PRIMARY KEY REFERENCES attachments ON DELETE CASCADE,
    content        bytea NOT NULL,
    reduced        bytea,
    reduced_type   text CHECK (reduced_type IN ('image/jpeg', 'image/webp')),
    CHECK ((reduced IS NULL) = (reduced_type IS NULL))
);
COMMENT ON TABLE attachment_contents IS 'writer: gateway. The bytes of an upload, as they came.';
COMMENT ON COLUMN attachment_contents.reduced IS 'A picture that is larger than models take, as they are sent it.';

CREATE TABLE thread_attachments (
    attachment_id  uuid PRIMARY KEY REFERENCES attachments,
    thread_id      uuid NOT NULL REFERENCES threads ON DELETE CASCADE
);
CREATE INDEX thread_attachments_thread ON thread_attachments (thread_id);
COMMENT ON TABLE thread_attachments IS 'writer: agent-loop. The one thread whose messages an upload goes with.';

CREATE TABLE pictures (
    id             uuid PRIMARY KEY REFERENCES tool_calls ON DELETE CASCADE,
    workspace_id   uuid NOT NULL,
    project_id     uuid NOT NULL,
    user_id        uuid NOT NULL,
    thread_id      uuid NOT NULL,
    media_type     text NOT NULL CHECK (media_type IN ('image/png', 'image/jpeg', 'image/webp', 'image/gif')),
    name           text NOT NULL CHECK (name <> '' AND length(name) <= 200),
    size           integer NOT NULL CHECK (size > 0),
    content        bytea NOT NULL,
    model          text NOT NULL,
    created_at     timestamptz NOT NULL DEFAULT now()
);
CREATE INDEX pictures_thread ON pictures (thread_id);
COMMENT ON TABLE pictures IS 'writer: tool-runner. A picture that a tool made, under the id of the call.';

CREATE VIEW attached_files AS
    SELECT a.id, a.workspace_id, a.project_id, a.user_id, t.thread_id, a.kind, a.media_type, a.name, a.size, a.encoding, a.pages,
           a.has_text, a.excerpt, a.created_at, CASE WHEN t.thread_id IS NULL THEN a.expires_at END AS expires_at
      FROM attachments a
      LEFT JOIN thread_attachments t ON t.attachment_id = a.id
     WHERE t.thread_id IS NOT NULL OR a.expires_at > now()
    UNION ALL
    SELECT p.id, p.workspace_id, p.project_id, p.user_id, p.thread_id, 'image', p.media_type, p.name, p.size, NULL, NULL,
           false, '', p.created_at, NULL
      FROM pictures p;
COMMENT ON VIEW attached_files IS 'Uploads and pictures as they read now: an upload that nobody used in time is gone, swept or not.';

-- An upload ends with the thread that it went to.
CREATE FUNCTION drop_attachment() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
    SET search_path = pg_catalog, askbus, pg_temp AS $$
BEGIN
    DELETE FROM attachments WHERE id = OLD.attachment_id;
    RETURN NULL;
END $$;
CREATE TRIGGER drop_attachment AFTER DELETE ON thread_attachments
    FOR EACH ROW EXECUTE FUNCTION drop_attachment();
