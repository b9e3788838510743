-- How people sign in: by passwords, at issuers of identities elsewhere, and by such an issuer's own tokens.

CREATE TABLE identities (
    id          uuid PRIMARY KEY,
    user_id     uuid NOT NULL REFERENCES users ON DELETE CASCADE,
    issuer      text NOT NULL CHECK (issuer <> '' AND length(issuer) <= 500),
    subject     text NOT NULL CHECK (subject <> '' AND length(subject) <= 255),
    created_at  timestamptz NOT NULL DEFAULT now(),
    UNIQUE (issuer, subject),
    UNIQUE (user_id, issuer)
);
COMMENT ON TABLE identities IS 'writer: gateway. Who somebody is at an issuer; one person has one identity there, so that an address which its issuer gave to somebody else brings nobody in.';

CREATE TABLE passwords (
    user_id  uuid PRIMARY KEY REFERENCES users ON DELETE CASCADE,
    hash     text NOT NULL CHECK (hash LIKE '$argon2id$%'),
    set_at   timestamptz NOT NULL DEFAULT now()
);
COMMENT ON TABLE passwords IS 'writer: gateway. Passwords, as argon2id hashes (RFC 9106).';

CREATE TABLE sign_in_attempts (
    id            uuid PRIMARY KEY,
    hash          bytea NOT NULL UNIQUE CHECK (length(hash) = 32),
    browser_hash  bytea NOT NULL CHECK (length(browser_hash) = 32),
    provider      text NOT NULL,
    return_to     text NOT NULL CHECK (return_to LIKE '/%' AND length(return_to) <= 2000),
    expires_at    timestamptz NOT NULL
);
CREATE INDEX sign_in_attempts_due ON sign_in_attempts (expires_at);
COMMENT ON TABLE sign_in_attempts IS 'writer: gateway. Sign-ins at an issuer that a browser began and did not come back from; only hashes of their state and of the browser''s secret are kept.';

ALTER TABLE login_links ADD COLUMN purpose text NOT NULL DEFAULT 'sign-in' CHECK (purpose IN ('sign-in', 'password'));
COMMENT ON COLUMN login_links.purpose IS 'What the link is for: to sign in, or to set a password.';

ALTER TABLE sessions
    ADD COLUMN method text NOT NULL DEFAULT 'link' CHECK (method IN ('link', 'password', 'issuer', 'jwt')),
    ADD COLUMN bearer bytea CHECK (length(bearer) = 32),
    ADD COLUMN signed_out_at timestamptz,
    ADD CHECK ((bearer IS NOT NULL) = (method = 'jwt'));
CREATE INDEX sessions_user ON sessions (user_id);
CREATE INDEX sessions_bearer ON sessions (bearer) WHERE bearer IS NOT NULL;
COMMENT ON COLUMN sessions.method IS 'How the person proved who they are.';
COMMENT ON COLUMN sessions.bearer IS 'The SHA-256 of the issuer''s token that this session is; one token has one in each workspace where it was used.';
COMMENT ON COLUMN sessions.signed_out_at IS 'When the person ended it; an issuer''s token is then worth nothing any more, in no workspace.';

CREATE VIEW live_sessions AS
    SELECT s.id, s.workspace_id, s.user_id, s.expires_at
      FROM sessions s
     WHERE s.state = 'active' AND s.expires_at > now()
       AND (s.bearer IS NULL
            OR NOT EXISTS (SELECT FROM sessions e WHERE e.bearer = s.bearer AND e.signed_out_at IS NOT NULL));
COMMENT ON VIEW live_sessions IS 'Sessions that count now.';
