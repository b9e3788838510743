-- Every foreign key of the database, also from tables that this role may not read: undo asks whether anything refers to a record.
-- Rows with a parent are the copies that Postgres keeps for partitions.
SELECT jsonb_build_object(
    'name', k.conname,
    'oid', k.conrelid::int8,
    'schema_', n.nspname,
    'table', c.relname,
    'columns', (SELECT jsonb_agg(a.attname ORDER BY u.place)
                  FROM unnest(k.conkey) WITH ORDINALITY AS u (attnum, place)
                  JOIN pg_catalog.pg_attribute a ON a.attrelid = k.conrelid AND a.attnum = u.attnum),
    'target_oid', k.confrelid::int8,
    'target_root', coalesce(pg_catalog.pg_partition_root(k.confrelid)::oid, k.confrelid)::int8,
    'target_columns', (SELECT jsonb_agg(a.attname ORDER BY u.place)
                         FROM unnest(k.confkey) WITH ORDINALITY AS u (attnum, place)
                         JOIN pg_catalog.pg_attribute a ON a.attrelid = k.confrelid AND a.attnum = u.attnum)
)::text AS document
  FROM pg_catalog.pg_constraint k
  JOIN pg_catalog.pg_class c ON c.oid = k.conrelid
  JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
 WHERE k.contype = 'f' AND k.conparentid = 0
 ORDER BY n.nspname, c.relname, k.conname
