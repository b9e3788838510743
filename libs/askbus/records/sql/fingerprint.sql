-- One number that moves when DDL touches what the schema is built from. A catalog row that DDL rewrites gets a new xmin; ANALYZE and
-- vacuum rewrite in place and keep it. Objects below 16384 are the system's own. Temporary tables are somebody's scratch.
SELECT coalesce(sum(hashtextextended(item, 0)), 0)::text AS fingerprint
  FROM (
    SELECT 'class ' || c.oid || ' ' || c.xmin AS item
      FROM pg_catalog.pg_class c
     WHERE c.oid >= 16384 AND c.relpersistence <> 't' AND c.relkind IN ('r', 'p', 'v', 'm', 'f')
    UNION ALL
    SELECT 'attribute ' || a.attrelid || ' ' || a.attnum || ' ' || a.xmin
      FROM pg_catalog.pg_attribute a
      JOIN pg_catalog.pg_class c ON c.oid = a.attrelid
     WHERE a.attrelid >= 16384 AND a.attnum > 0 AND c.relpersistence <> 't' AND c.relkind IN ('r', 'p', 'v', 'm', 'f')
    UNION ALL
    SELECT 'default ' || d.oid || ' ' || d.xmin
      FROM pg_catalog.pg_attrdef d
      JOIN pg_catalog.pg_class c ON c.oid = d.adrelid
     WHERE d.adrelid >= 16384 AND c.relpersistence <> 't'
    UNION ALL
    SELECT 'constraint ' || k.oid || ' ' || k.xmin
      FROM pg_catalog.pg_constraint k
      LEFT JOIN pg_catalog.pg_class c ON c.oid = k.conrelid
     WHERE k.oid >= 16384 AND c.relpersistence IS DISTINCT FROM 't'
    UNION ALL
    SELECT 'index ' || i.indexrelid || ' ' || i.xmin
      FROM pg_catalog.pg_index i
      JOIN pg_catalog.pg_class c ON c.oid = i.indexrelid
     WHERE i.indexrelid >= 16384 AND i.indisunique AND c.relpersistence <> 't'
    UNION ALL
    SELECT 'label ' || e.oid || ' ' || e.xmin FROM pg_catalog.pg_enum e
    UNION ALL
    SELECT 'domain ' || t.oid || ' ' || t.xmin FROM pg_catalog.pg_type t WHERE t.oid >= 16384 AND t.typtype = 'd'
    UNION ALL
    SELECT 'comment ' || o.objoid || ' ' || o.objsubid || ' ' || o.xmin FROM pg_catalog.pg_description o WHERE o.objoid >= 16384
    UNION ALL
    SELECT 'extension ' || x.oid || ' ' || x.xmin FROM pg_catalog.pg_extension x
    UNION ALL
    SELECT 'schema ' || n.oid || ' ' || n.xmin FROM pg_catalog.pg_namespace n WHERE n.nspname !~ '^pg_(toast_)?temp_'
  ) AS catalogue
