-- The ledger: one row for each action that was applied to these records, and for each undo. Rows are added and never changed.
SELECT pg_advisory_xact_lock(hashtext('askbus_ledger'), 0);

CREATE SCHEMA IF NOT EXISTS askbus_ledger;
COMMENT ON SCHEMA askbus_ledger IS 'What askbus changed in this database. Kept beside the records, in the same transactions.';

CREATE TABLE IF NOT EXISTS askbus_ledger.outcomes (
    id            uuid PRIMARY KEY,
    kind          text NOT NULL CHECK (kind IN ('apply', 'undo')),
    action_id     uuid NOT NULL,
    state         text NOT NULL,
    at            timestamptz NOT NULL DEFAULT clock_timestamp(),
    user_id       uuid NOT NULL,
    workspace_id  uuid NOT NULL,
    images        jsonb NOT NULL DEFAULT '[]' CHECK (jsonb_typeof(images) = 'array'),
    mismatches    jsonb NOT NULL DEFAULT '[]' CHECK (jsonb_typeof(mismatches) = 'array'),
    problem       jsonb,
    CHECK (state IN ('applied', 'conflicted', 'failed') AND kind = 'apply' OR state IN ('undone', 'refused') AND kind = 'undo'),
    CHECK ((id = action_id) = (kind = 'apply')),
    CHECK ((images <> '[]') = (state IN ('applied', 'undone')))
);
CREATE UNIQUE INDEX IF NOT EXISTS outcomes_undone_once ON askbus_ledger.outcomes (action_id) WHERE state = 'undone';
CREATE INDEX IF NOT EXISTS outcomes_action ON askbus_ledger.outcomes (action_id);
COMMENT ON TABLE askbus_ledger.outcomes IS 'What became of each action and undo, with the records before and after. The first row wins.';
COMMENT ON COLUMN askbus_ledger.outcomes.images IS 'Per operation the touched fields before and after, as Postgres spells them.';
