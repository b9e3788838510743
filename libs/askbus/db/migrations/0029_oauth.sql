-- Apps that a person connects over OAuth 2.1. A grant is a row of `tokens` of the kind 'oauth': all that holds for API tokens holds for it.
-- Its own hash is of a secret that nobody ever had; what the app shows are short access tokens, for one audience.

CREATE TABLE oauth_clients (
    id             uuid PRIMARY KEY,
    url            text UNIQUE CHECK (url LIKE 'https://%' AND length(url) <= 2000),
    name           text NOT NULL CHECK (name <> '' AND length(name) <= 200),
    redirect_uris  text[] NOT NULL CHECK (cardinality(redirect_uris) BETWEEN 1 AND 10),
    auth_method    text NOT NULL CHECK (auth_method IN ('none', 'client_secret_basic', 'client_secret_post')),
    refreshes      boolean NOT NULL,
    hash           bytea CHECK (length(hash) = 32),
    created_at     timestamptz NOT NULL DEFAULT now(),
    fresh_until    timestamptz,
    used_at        timestamptz,
    CHECK ((hash IS NOT NULL) = (auth_method <> 'none')),
    CHECK ((url IS NOT NULL) = (fresh_until IS NOT NULL)),
    CHECK (url IS NULL OR auth_method = 'none')
);
CREATE INDEX oauth_clients_unused ON oauth_clients (created_at) WHERE used_at IS NULL;
COMMENT ON TABLE oauth_clients IS 'writer: gateway. An app that registered itself, or whose metadata document was read; only the SHA-256 of its secret is kept. What it says of itself nobody checked.';
COMMENT ON COLUMN oauth_clients.url IS 'Where its metadata document is, and so its client_id; null for one that registered.';
COMMENT ON COLUMN oauth_clients.refreshes IS 'Whether it is given refresh tokens.';
COMMENT ON COLUMN oauth_clients.used_at IS 'When somebody first allowed it something.';

ALTER TABLE tokens
    ADD COLUMN kind text NOT NULL DEFAULT 'api' CHECK (kind IN ('api', 'oauth')),
    ADD COLUMN client_id uuid REFERENCES oauth_clients,
    ADD CHECK ((kind = 'oauth') = (client_id IS NOT NULL)),
    ADD CHECK (kind <> 'oauth' OR expires_at IS NOT NULL),
    ADD CHECK (kind <> 'oauth' OR scopes <@ ARRAY['data:read', 'data:refresh', 'charts:preview', 'datasets:write', 'questions:ask', 'actions:propose']);
CREATE INDEX tokens_client ON tokens (client_id) WHERE client_id IS NOT NULL;
CREATE INDEX tokens_apps ON tokens (workspace_id, id) WHERE kind = 'oauth';
COMMENT ON COLUMN tokens.kind IS 'An API token, or the grant of an app, which comes with access tokens alone.';

ALTER TABLE workspaces ADD COLUMN mcp boolean NOT NULL DEFAULT true;
COMMENT ON COLUMN workspaces.mcp IS 'Whether its admins let agents in over MCP.';

CREATE TABLE oauth_requests (
    id              uuid PRIMARY KEY,
    client_id       uuid NOT NULL REFERENCES oauth_clients ON DELETE CASCADE,
    session_id      uuid NOT NULL REFERENCES sessions ON DELETE CASCADE,
    workspace_id    uuid NOT NULL REFERENCES workspaces ON DELETE CASCADE,
    user_id         uuid NOT NULL REFERENCES users ON DELETE CASCADE,
    hash            bytea NOT NULL UNIQUE CHECK (length(hash) = 32),
    redirect_uri    text NOT NULL CHECK (length(redirect_uri) <= 2000),
    code_challenge  text NOT NULL CHECK (code_challenge ~ '^[A-Za-z0-9_-]{43}$'),
    resource        text NOT NULL,
    state           text CHECK (length(state) <= 2000),
    scopes          text[] NOT NULL CHECK (cardinality(scopes) > 0),
    expires_at      timestamptz NOT NULL,
    decided_at      timestamptz
);
CREATE INDEX oauth_requests_client ON oauth_requests (client_id);
CREATE INDEX oauth_requests_session ON oauth_requests (session_id, id);
CREATE INDEX oauth_requests_due ON oauth_requests (expires_at);
COMMENT ON TABLE oauth_requests IS 'writer: gateway. What an app asked somebody for, on the page of one session; only the SHA-256 of the page''s ticket is kept.';

CREATE TABLE oauth_codes (
    id          uuid PRIMARY KEY REFERENCES oauth_requests ON DELETE CASCADE,
    grant_id    uuid NOT NULL UNIQUE,
    hash        bytea NOT NULL UNIQUE CHECK (length(hash) = 32),
    scopes      text[] NOT NULL CHECK (cardinality(scopes) > 0),
    projects    uuid[],
    expires_at  timestamptz NOT NULL,
    used_at     timestamptz
);
COMMENT ON TABLE oauth_codes IS 'writer: gateway. What the person allowed, until the app fetches it; only the SHA-256 of the code is kept. It stays for a day, so that its replay is known.';

CREATE TABLE oauth_access_tokens (
    id          uuid PRIMARY KEY,
    grant_id    uuid NOT NULL REFERENCES tokens ON DELETE CASCADE,
    hash        bytea NOT NULL UNIQUE CHECK (length(hash) = 32),
    resource    text NOT NULL,
    scopes      text[] NOT NULL CHECK (cardinality(scopes) > 0),
    expires_at  timestamptz NOT NULL
);
CREATE INDEX oauth_access_tokens_grant ON oauth_access_tokens (grant_id);
CREATE INDEX oauth_access_tokens_due ON oauth_access_tokens (expires_at);
COMMENT ON TABLE oauth_access_tokens IS 'writer: gateway. What an app shows for some minutes, to one audience; only its SHA-256 is kept.';

CREATE TABLE oauth_refresh_tokens (
    id            uuid PRIMARY KEY,
    grant_id      uuid NOT NULL REFERENCES tokens ON DELETE CASCADE,
    hash          bytea NOT NULL UNIQUE CHECK (length(hash) = 32),
    resource      text NOT NULL,
    expires_at    timestamptz NOT NULL,
    used_at       timestamptz,
    salt          bytea CHECK (length(salt) = 32),
    successor_id  uuid,
    CHECK ((used_at IS NULL) = (salt IS NULL) AND (used_at IS NULL) = (successor_id IS NULL))
);
CREATE INDEX oauth_refresh_tokens_grant ON oauth_refresh_tokens (grant_id);
CREATE INDEX oauth_refresh_tokens_due ON oauth_refresh_tokens (expires_at);
COMMENT ON TABLE oauth_refresh_tokens IS 'writer: gateway. What an app exchanges once for its successor; only its SHA-256 is kept, of used ones too, so that their replay is known.';
COMMENT ON COLUMN oauth_refresh_tokens.salt IS 'With the token itself it gives the successor: whoever repeats an exchange at once gets the same one, and nothing readable is kept.';
