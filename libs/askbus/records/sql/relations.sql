-- Every table, view, materialised view, foreign table and partitioned parent that this role may read, one JSON document each.
-- Left out: system schemas, askbus's own, partitions (their parent stands for them), and what belongs to an extension.
WITH relation AS (
    SELECT c.oid, c.relname, c.relkind, n.nspname
      FROM pg_catalog.pg_class c
      JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
     WHERE c.relkind IN ('r', 'p', 'v', 'm', 'f')
       AND NOT c.relispartition
       AND c.relpersistence <> 't'
       AND n.nspname !~ '^pg_'
       AND n.nspname NOT IN ('information_schema', 'askbus', 'askbus_ledger')
       AND has_schema_privilege(n.oid, 'USAGE')
       AND has_any_column_privilege(c.oid, 'SELECT')
       AND NOT EXISTS (SELECT FROM pg_catalog.pg_depend d
                        WHERE d.classid = 'pg_catalog.pg_class'::regclass AND d.objid = c.oid AND d.deptype = 'e')
), attribute AS (
    SELECT a.attrelid, a.attnum, a.attname, a.atttypid, a.atttypmod, a.attnotnull, a.attidentity, a.attgenerated, a.atthasdef,
           t.typtype, coalesce(base.oid, t.oid) AS base_oid, coalesce(base.typname, t.typname) AS base_name,
           coalesce(base.typtype, t.typtype) AS base_type, coalesce(base.typcategory, t.typcategory) AS base_category,
           CASE WHEN t.typtype = 'd' THEN coalesce(nullif(domain.modifier, -1), t.typtypmod) ELSE a.atttypmod END AS modifier,
           t.typdefault IS NOT NULL AS type_default, domain.not_null AS domain_not_null
      FROM pg_catalog.pg_attribute a
      JOIN relation r ON r.oid = a.attrelid
      JOIN pg_catalog.pg_type t ON t.oid = a.atttypid
      LEFT JOIN LATERAL (
          WITH RECURSIVE chain AS (
              SELECT t.typbasetype AS oid, t.typtypmod AS modifier, t.typnotnull AS not_null, t.typtype = 'd' AS more
               WHERE t.typtype = 'd'
              UNION ALL
              SELECT b.typbasetype, coalesce(nullif(chain.modifier, -1), b.typtypmod), chain.not_null OR b.typnotnull, b.typtype = 'd'
                FROM chain JOIN pg_catalog.pg_type b ON b.oid = chain.oid
               WHERE b.typtype = 'd'
          )
          SELECT c.oid, c.modifier, c.not_null
            FROM chain c JOIN pg_catalog.pg_type b ON b.oid = c.oid
           WHERE b.typtype <> 'd'
      ) AS domain ON true
      LEFT JOIN pg_catalog.pg_type base ON base.oid = domain.oid
     WHERE a.attnum > 0 AND NOT a.attisdropped AND has_column_privilege(a.attrelid, a.attnum, 'SELECT')
)
SELECT jsonb_build_object(
    'oid', r.oid::int8,
    'schema_', r.nspname,
    'table', r.relname,
    'visible', pg_catalog.pg_table_is_visible(r.oid),
    'relkind', r.relkind::text,
    'comment', coalesce(pg_catalog.obj_description(r.oid, 'pg_class'), ''),
    'insertable', pg_catalog.pg_relation_is_updatable(r.oid, true) & 8 = 8 AND has_any_column_privilege(r.oid, 'INSERT'),
    'updatable', pg_catalog.pg_relation_is_updatable(r.oid, true) & 4 = 4 AND has_any_column_privilege(r.oid, 'UPDATE'),
    'columns', (
        SELECT jsonb_agg(jsonb_build_object(
            'name', a.attname,
            'type', pg_catalog.format_type(a.atttypid, a.atttypmod),
            'base', pg_catalog.format_type(a.base_oid, -1),
            'base_name', a.base_name,
            'base_type', a.base_type::text,
            'base_category', a.base_category::text,
            'modifier', a.modifier,
            'nullable', NOT (a.attnotnull OR coalesce(a.domain_not_null, false)),
            'has_default', a.atthasdef OR a.type_default,
            'identity', a.attidentity::text,
            'generated', a.attgenerated <> '',
            'may_insert', has_column_privilege(r.oid, a.attnum, 'INSERT'),
            'may_update', has_column_privilege(r.oid, a.attnum, 'UPDATE'),
            'comment', coalesce(pg_catalog.col_description(r.oid, a.attnum), ''),
            'labels', (SELECT coalesce(jsonb_agg(e.enumlabel ORDER BY e.enumsortorder), '[]')
                         FROM pg_catalog.pg_enum e WHERE e.enumtypid = a.base_oid)
        ) ORDER BY a.attnum)
          FROM attribute a WHERE a.attrelid = r.oid
    ),
    'keys', (
        SELECT coalesce(jsonb_agg(key.columns ORDER BY key.indisprimary DESC, key.indexrelid), '[]')
          FROM (SELECT i.indisprimary, i.indexrelid,
                       (SELECT jsonb_agg(a.attname ORDER BY k.place)
                          FROM unnest(i.indkey::int2[]) WITH ORDINALITY AS k (attnum, place)
                          JOIN pg_catalog.pg_attribute a ON a.attrelid = i.indrelid AND a.attnum = k.attnum
                         WHERE k.place <= i.indnkeyatts) AS columns
                  FROM pg_catalog.pg_index i
                 WHERE i.indrelid = r.oid AND i.indisunique AND i.indisvalid AND i.indpred IS NULL AND i.indexprs IS NULL
                   AND i.indimmediate) AS key
    )
)::text AS document
  FROM relation r
 ORDER BY r.nspname, r.relname
