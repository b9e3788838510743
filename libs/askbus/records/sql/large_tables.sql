-- Tables and materialised views with at least so many rows, by Postgres's own estimate or, where nothing was ever counted, by size.
SELECT c.oid::int8 AS oid,
       c.relkind::text AS relkind,
       sum(CASE WHEN p.reltuples >= 0 THEN p.reltuples ELSE pg_relation_size(p.oid) / 100 END)::int8 AS rows,
       row_security_active(c.oid) AS row_security
  FROM pg_catalog.pg_class c
 CROSS JOIN LATERAL (SELECT relid FROM pg_partition_tree(c.oid) WHERE isleaf UNION SELECT c.oid) AS part
  JOIN pg_catalog.pg_class p ON p.oid = part.relid AND p.relkind IN ('r', 'm')
 WHERE c.oid >= 16384 AND c.relkind IN ('r', 'p', 'm') AND NOT c.relispartition AND c.relpersistence <> 't'
 GROUP BY c.oid, c.relkind
HAVING sum(CASE WHEN p.reltuples >= 0 THEN p.reltuples ELSE pg_relation_size(p.oid) / 100 END) >= :rows
 ORDER BY rows DESC
