-- Where people are, and an answer that went back to the model.

ALTER TABLE workspaces ADD COLUMN time_zone text CHECK (length(time_zone) BETWEEN 1 AND 100);
COMMENT ON COLUMN workspaces.time_zone IS 'An IANA name; NULL is the deployment''s own choice.';
ALTER TABLE users ADD COLUMN time_zone text CHECK (length(time_zone) BETWEEN 1 AND 100);
COMMENT ON COLUMN users.time_zone IS 'An IANA name; NULL is their workspace''s.';

ALTER TABLE messages ADD COLUMN nudged boolean NOT NULL DEFAULT false CHECK (NOT nudged OR role = 'assistant');
COMMENT ON COLUMN messages.nudged IS 'It gave no answer and called nothing, so the model was asked once more.';
