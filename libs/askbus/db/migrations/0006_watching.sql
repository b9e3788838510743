-- Front ends that own the conversation: their names for threads, and those of them that the workspace trusts with instructions.

ALTER TABLE threads ADD COLUMN client_id text CHECK (length(client_id) BETWEEN 1 AND 200);
CREATE UNIQUE INDEX threads_client ON threads (project_id, user_id, client_id) WHERE client_id IS NOT NULL;
COMMENT ON COLUMN threads.client_id IS 'What the front end that began it calls it: a name among its own user''s threads of the project, and nobody else''s.';

CREATE TABLE frontends (
    id            uuid PRIMARY KEY,
    workspace_id  uuid NOT NULL REFERENCES workspaces ON DELETE CASCADE,
    name          text NOT NULL CHECK (name <> '' AND length(name) <= 200),
    hash          bytea NOT NULL UNIQUE CHECK (length(hash) = 32),
    created_at    timestamptz NOT NULL DEFAULT now(),
    UNIQUE (workspace_id, name)
);
COMMENT ON TABLE frontends IS 'writer: gateway. A front end whose instructions count; only the SHA-256 of its key is kept.';
