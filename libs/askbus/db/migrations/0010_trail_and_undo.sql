-- The audit trail is read by action and by record; an undo may leave out what is in its way, and a turn's undos belong together.

ALTER TABLE audit_log ADD COLUMN part_id uuid;
COMMENT ON COLUMN audit_log.part_id IS 'Which part of the entity it was about, where it has several: the undo of an action.';
CREATE INDEX audit_log_entity ON audit_log (entity_id, at);

CREATE INDEX actions_records ON actions USING gin (operations jsonb_path_ops);
CREATE INDEX actions_written ON actions USING gin ((outcome -> 'images') jsonb_path_ops) WHERE outcome IS NOT NULL;
CREATE INDEX actions_turn ON actions (turn_id) WHERE turn_id IS NOT NULL;

-- What is proposed again after an undo belongs to the same thread and turn, and no call proposed it.
ALTER TABLE actions
    DROP CONSTRAINT actions_check,
    ADD CHECK ((thread_id IS NULL) = (turn_id IS NULL)),
    ADD CHECK (call_id IS NULL OR turn_id IS NOT NULL);

ALTER TABLE undos
    ADD COLUMN rest boolean NOT NULL DEFAULT false,
    ADD COLUMN group_id uuid,
    ADD COLUMN place integer,
    ADD CHECK ((group_id IS NULL) = (place IS NULL));
CREATE UNIQUE INDEX undos_group ON undos (group_id, place) WHERE group_id IS NOT NULL;
COMMENT ON COLUMN undos.rest IS 'What is in the way is left out and listed, instead of refusing the whole.';
COMMENT ON COLUMN undos.group_id IS 'The undos of one turn''s actions that were asked for together; `place` is their order, the newest action first.';
