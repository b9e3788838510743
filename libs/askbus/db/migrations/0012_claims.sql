-- What readers are told about an answer beside its text.

ALTER TABLE messages ADD COLUMN unconfirmed uuid[];
COMMENT ON COLUMN messages.unconfirmed IS 'The pending actions of its turn, where the answer says that they are done.';
