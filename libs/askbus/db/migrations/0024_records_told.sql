-- Telling of a record never stands in the way of writing it. A column may hold what jsonb does not take (json with \u0000 or a number beyond
-- numeric's range, a text beyond its size), and a key column may have got another name since the table was attached: then the columns of the
-- primary key, as it is now, and of the project are read by themselves.
CREATE OR REPLACE FUNCTION log_record() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
    SET search_path = pg_catalog, askbus, pg_temp AS $$
DECLARE
    divided  boolean := TG_ARGV[2] <> '' OR TG_ARGV[3] <> '';
    keys     text[] := ARRAY(SELECT jsonb_array_elements_text(TG_ARGV[1]::jsonb));
    before   jsonb;
    after    jsonb;
    picked   text;
    told     record;
BEGIN
    IF TG_OP = 'UPDATE' THEN
        IF OLD *= NEW THEN
            RETURN NULL;
        END IF;
    END IF;
    BEGIN
        IF TG_OP <> 'INSERT' THEN
            before := to_jsonb(OLD);
        END IF;
        IF TG_OP <> 'DELETE' THEN
            after := to_jsonb(NEW);
        END IF;
    EXCEPTION WHEN others THEN
        before := NULL;
        after := NULL;
    END;
    IF NOT coalesce(coalesce(after, before) ?& keys, false) THEN
        SELECT array_agg(a.attname::text ORDER BY k.place) INTO keys
          FROM pg_index i
         CROSS JOIN unnest(i.indkey) WITH ORDINALITY AS k (number, place)
          JOIN pg_attribute a ON a.attrelid = i.indrelid AND a.attnum = k.number
         WHERE i.indrelid = TG_RELID AND i.indisprimary AND k.place <= i.indnkeyatts;
        SELECT format('SELECT jsonb_build_object(%s)', string_agg(format('%L, ($1).%I', a.attname, a.attname), ', ')) INTO picked
          FROM pg_attribute a
         WHERE a.attrelid = TG_RELID AND a.attnum > 0 AND NOT a.attisdropped AND (a.attname = ANY (keys) OR a.attname = TG_ARGV[2]);
        IF keys IS NULL THEN
            RETURN NULL;  -- without a primary key there is no saying which record it is
        END IF;
        IF TG_OP <> 'INSERT' THEN
            EXECUTE picked INTO before USING OLD;
        END IF;
        IF TG_OP <> 'DELETE' THEN
            EXECUTE picked INTO after USING NEW;
        END IF;
    END IF;
    FOR told IN
        WITH images AS (
            SELECT 1 AS place, before AS image WHERE TG_OP <> 'INSERT'
            UNION ALL SELECT 2, after WHERE TG_OP <> 'DELETE'),
        known AS (
            SELECT i.place, coalesce(nullif(TG_ARGV[3], ''), i.image ->> TG_ARGV[2]) AS project,
                   (SELECT jsonb_object_agg(c, i.image ->> c) FROM unnest(keys) c) AS key
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
