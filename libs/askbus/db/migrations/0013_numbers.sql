-- Numbers of an answer that have no source, and what a workspace does about them.

ALTER TABLE messages ADD COLUMN ungrounded jsonb CHECK (jsonb_typeof(ungrounded) = 'array' AND ungrounded <> '[]');
COMMENT ON COLUMN messages.ungrounded IS 'The numbers of this answer that stand in no result and not in the user''s words: text, start, end.';
COMMENT ON COLUMN messages.nudged IS 'The model was asked once more: it gave no answer and called nothing, or it stated what is in ungrounded.';

CREATE TYPE number_check AS ENUM ('mark', 'ask_again');
ALTER TABLE workspaces ADD COLUMN number_check number_check NOT NULL DEFAULT 'mark';
COMMENT ON COLUMN workspaces.number_check IS 'What becomes of an answer with numbers that have no source: it is marked, or the model is first asked once more.';
