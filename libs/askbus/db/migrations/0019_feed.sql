-- The change log in parts by time, a nudge that can be switched off under load, and records of the team's own on the feed.

-- ---------------------------------------------------------------------------------------------------------------------
-- Eight parts of four hours each, used in turn: what nobody can resume from any more is dropped by emptying a whole part.
-- A ring needs no table made in time, and no write ever finds none for itself.

ALTER TABLE change_log RENAME TO change_log_before;
ALTER SEQUENCE change_log_seq_seq RENAME TO change_log_before_seq_seq;
ALTER INDEX change_log_pkey RENAME TO change_log_before_pkey;
ALTER INDEX change_log_xid RENAME TO change_log_before_xid;
ALTER INDEX change_log_at RENAME TO change_log_before_at;

CREATE TABLE change_log (
    part          smallint NOT NULL DEFAULT (extract(epoch FROM clock_timestamp())::bigint / 14400 % 8)::smallint,
    seq           bigint NOT NULL GENERATED ALWAYS AS IDENTITY,
    xid           xid8 NOT NULL DEFAULT pg_current_xact_id(),
    at            timestamptz NOT NULL DEFAULT now(),
    fact          text NOT NULL,
    entity        text NOT NULL,
    entity_id     uuid NOT NULL,
    status        text NOT NULL,
    workspace_id  uuid NOT NULL,
    project_id    uuid,
    user_id       uuid,
    assignee_id   uuid,
    parent_id     uuid,
    collection    text,
    key           jsonb,
    trace         text,
    CHECK ((entity = 'record') = (collection IS NOT NULL AND key IS NOT NULL))
) PARTITION BY LIST (part);
CREATE TABLE change_log_0 PARTITION OF change_log FOR VALUES IN (0);
CREATE TABLE change_log_1 PARTITION OF change_log FOR VALUES IN (1);
CREATE TABLE change_log_2 PARTITION OF change_log FOR VALUES IN (2);
CREATE TABLE change_log_3 PARTITION OF change_log FOR VALUES IN (3);
CREATE TABLE change_log_4 PARTITION OF change_log FOR VALUES IN (4);
CREATE TABLE change_log_5 PARTITION OF change_log FOR VALUES IN (5);
CREATE TABLE change_log_6 PARTITION OF change_log FOR VALUES IN (6);
CREATE TABLE change_log_7 PARTITION OF change_log FOR VALUES IN (7);
CREATE INDEX change_log_xid ON change_log (xid);
CREATE INDEX change_log_at ON change_log USING brin (at);
COMMENT ON TABLE change_log IS 'writer: triggers. What became true, by id and state, never by content.';
COMMENT ON COLUMN change_log.part IS 'Which of the parts by time: four hours each, in turn.';
COMMENT ON COLUMN change_log.user_id IS 'Set when only this user may see it; null when everyone in the project may.';
COMMENT ON COLUMN change_log.parent_id IS 'What the entity belongs to: the turn of a tool call, the turn that a question holds up.';
COMMENT ON COLUMN change_log.collection IS 'Of a record of the team''s own: the collection that it is in; `key` is its primary key.';

INSERT INTO change_log (part, seq, xid, at, fact, entity, entity_id, status, workspace_id, project_id, user_id, assignee_id, parent_id, trace)
    OVERRIDING SYSTEM VALUE
    SELECT (extract(epoch FROM at)::bigint / 14400 % 8)::smallint, seq, xid, at, fact, entity, entity_id, status, workspace_id,
           project_id, user_id, assignee_id, parent_id, trace
      FROM change_log_before;
SELECT setval('change_log_seq_seq', nextval('change_log_before_seq_seq'), false);
DROP TABLE change_log_before;

-- ---------------------------------------------------------------------------------------------------------------------
-- One nudge, the log's own: NOTIFY takes a lock of the whole cluster at commit, so the readers switch it off under load and poll.

ALTER TABLE feed ADD COLUMN nudged boolean NOT NULL DEFAULT true;
COMMENT ON TABLE feed IS 'writer: expiry, gateway. The log''s lineage, the newest transaction whose rows were pruned from it, and whether writers nudge its readers.';

CREATE FUNCTION nudge() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
    SET search_path = pg_catalog, askbus, pg_temp AS $$
BEGIN
    IF (SELECT nudged FROM feed) THEN
        PERFORM pg_notify('askbus', '');
    END IF;
    RETURN NULL;
END $$;
CREATE TRIGGER nudge AFTER INSERT ON change_log
    FOR EACH ROW WHEN (NEW.entity NOT IN ('tool_call', 'tool_run')) EXECUTE FUNCTION nudge();

DO $$
DECLARE
    definition text;
BEGIN
    FOR definition IN
        SELECT pg_get_functiondef(p.oid) FROM pg_proc p
         WHERE p.pronamespace = 'askbus'::regnamespace AND p.proname <> 'nudge' AND p.prosrc LIKE '%pg_notify(''askbus''%'
    LOOP
        EXECUTE replace(definition, E'    PERFORM pg_notify(''askbus'', '''');\n', '');
    END LOOP;
END $$;

-- ---------------------------------------------------------------------------------------------------------------------
-- Records. `askbus feed attach` puts this trigger on a table; its arguments: the collection, the columns of its primary key, the
-- column that names the project (none where empty), the one project of all its records (none where empty), and the names that
-- projects have there, by their ids. Records that belong to no one project are told in every workspace.
CREATE FUNCTION log_record() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
    SET search_path = pg_catalog, askbus, pg_temp AS $$
DECLARE
    divided  boolean := TG_ARGV[2] <> '' OR TG_ARGV[3] <> '';
    told     record;
BEGIN
    IF TG_OP = 'UPDATE' THEN
        IF OLD *= NEW THEN
            RETURN NULL;
        END IF;
    END IF;
    FOR told IN
        WITH images AS (
            SELECT 1 AS place, to_jsonb(OLD) AS image WHERE TG_OP <> 'INSERT'
            UNION ALL SELECT 2, to_jsonb(NEW) WHERE TG_OP <> 'DELETE'),
        known AS (
            SELECT i.place, coalesce(nullif(TG_ARGV[3], ''), i.image ->> TG_ARGV[2]) AS project,
                   (SELECT jsonb_object_agg(c, i.image ->> c) FROM jsonb_array_elements_text(TG_ARGV[1]::jsonb) c) AS key
              FROM images i),
        moved AS (SELECT count(DISTINCT (k.key, k.project)) > 1 AS away FROM known k)
        SELECT k.key, p.workspace_id, p.project_id,
               CASE WHEN TG_OP = 'DELETE' OR (k.place = 1 AND m.away) THEN 'deleted'
                    WHEN TG_OP = 'INSERT' OR m.away THEN 'created' ELSE 'updated' END AS word
          FROM known k CROSS JOIN moved m
         CROSS JOIN LATERAL (
               SELECT w.id AS workspace_id, NULL::uuid AS project_id FROM workspaces w WHERE NOT divided
               UNION ALL
               SELECT p.workspace_id, p.id FROM projects p
                WHERE divided AND coalesce(TG_ARGV[4]::jsonb ->> p.id::text, p.id::text) = k.project) p
         WHERE k.place = 2 OR TG_OP = 'DELETE' OR m.away
         ORDER BY k.place
    LOOP
        INSERT INTO change_log (fact, entity, entity_id, status, workspace_id, project_id, collection, key)
        VALUES ('record.' || told.word, 'record', md5(TG_ARGV[0] || told.key::text)::uuid, told.word, told.workspace_id,
                told.project_id, TG_ARGV[0], told.key);
    END LOOP;
    RETURN NULL;
END $$;
COMMENT ON FUNCTION log_record() IS 'Tells which record of the team''s own was made, changed or deleted, and never what is in it.';

-- What actions did, and what their undos took back, wherever the records are: but for tables that tell it themselves.
CREATE FUNCTION log_written() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
    SET search_path = pg_catalog, askbus, pg_temp AS $$
DECLARE
    told record;
BEGIN
    FOR told IN
        SELECT i ->> 'collection' AS collection, coalesce(nullif(i -> 'key', '{}'), i -> 'key_before') AS key,
               CASE WHEN i -> 'key' = '{}' THEN 'deleted'
                    WHEN TG_ARGV[0] = 'apply' AND i ->> 'kind' = 'create' THEN 'created' ELSE 'updated' END AS word
          FROM jsonb_array_elements(NEW.outcome -> 'images') WITH ORDINALITY AS images (i, place)
         WHERE NOT EXISTS (
               SELECT FROM pg_trigger t
                WHERE t.tgfoid = 'askbus.log_record()'::regprocedure
                  AND substring(t.tgargs FOR octet_length(i ->> 'collection') + 1)
                      = convert_to(i ->> 'collection', 'UTF8') || '\x00'::bytea)
         ORDER BY place
    LOOP
        INSERT INTO change_log (fact, entity, entity_id, status, workspace_id, project_id, parent_id, collection, key, trace)
        VALUES ('record.' || told.word, 'record', md5(told.collection || told.key::text)::uuid, told.word, NEW.workspace_id,
                NEW.project_id, NEW.id, told.collection, told.key, NEW.trace);
    END LOOP;
    RETURN NULL;
END $$;
CREATE TRIGGER log_written AFTER UPDATE ON actions
    FOR EACH ROW WHEN (OLD.state IS DISTINCT FROM NEW.state AND NEW.state = 'applied') EXECUTE FUNCTION log_written('apply');
CREATE TRIGGER log_taken_back AFTER UPDATE ON undos
    FOR EACH ROW WHEN (OLD.state IS DISTINCT FROM NEW.state AND NEW.state = 'done') EXECUTE FUNCTION log_written('undo');
