-- What comes with a message beside its text, which model serves a workspace, and a turn that repeats another.

ALTER TABLE workspaces
    ADD COLUMN model text CHECK (length(model) BETWEEN 1 AND 100),
    ADD COLUMN instructions text CHECK (length(instructions) BETWEEN 1 AND 4000);
COMMENT ON COLUMN workspaces.model IS 'The name of one of ASKBUS_MODELS; NULL is the deployment''s own choice.';
COMMENT ON COLUMN workspaces.instructions IS 'What the workspace tells the model in every prompt.';

ALTER TABLE turns
    ADD COLUMN context jsonb NOT NULL DEFAULT '[]' CHECK (jsonb_typeof(context) = 'array'),
    ADD COLUMN instructions text CHECK (length(instructions) BETWEEN 1 AND 4000),
    ADD COLUMN retry_of uuid REFERENCES turns ON DELETE SET NULL;
COMMENT ON COLUMN turns.context IS 'What the front end handed in with the message: labels and texts, always quoted.';
COMMENT ON COLUMN turns.instructions IS 'What a registered front end tells the model in this turn.';
COMMENT ON COLUMN turns.retry_of IS 'The turn whose message this one answers anew.';

ALTER TABLE messages ADD COLUMN attachments uuid[] NOT NULL DEFAULT '{}' CHECK (cardinality(attachments) <= 10);
COMMENT ON COLUMN messages.attachments IS 'Files that go with a user message, in order; pictures that a tool made stand in its result.';
