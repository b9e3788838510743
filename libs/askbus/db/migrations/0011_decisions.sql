-- A person may decide on each operation of an action: confirm it, reject it with a reason, or edit values before confirming.

ALTER TABLE actions
    ADD COLUMN decisions jsonb CHECK (jsonb_typeof(decisions) = 'array'),
    ADD COLUMN confirmed jsonb CHECK (jsonb_typeof(confirmed) = 'array' AND jsonb_array_length(confirmed) BETWEEN 1 AND 100),
    ADD CHECK (decisions IS NULL OR decided_by IS NOT NULL),
    ADD CHECK (confirmed IS NULL OR decisions IS NOT NULL AND state <> 'rejected');
COMMENT ON COLUMN actions.decisions IS 'What was decided on each operation, where that was not the same for all; by `decided_by`.';
COMMENT ON COLUMN actions.confirmed IS 'The operations to apply where they are not those proposed: without the rejected ones, with edited values.';
