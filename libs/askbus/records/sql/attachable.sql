SELECT c.oid::regclass::text AS spelled, n.nspname AS schema,
       CASE WHEN n.nspname = 'public' THEN c.relname ELSE n.nspname || '.' || c.relname END AS collection,
       ARRAY(SELECT a.attname FROM pg_attribute a WHERE a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped)::text[] AS columns,
       ARRAY(SELECT a.attname
               FROM pg_index i, unnest(i.indkey) WITH ORDINALITY k (number, place)
               JOIN pg_attribute a ON a.attnum = k.number
              WHERE i.indrelid = c.oid AND i.indisprimary AND a.attrelid = c.oid
              ORDER BY k.place)::text[] AS key
  FROM pg_class c
  JOIN pg_namespace n ON n.oid = c.relnamespace
 WHERE c.oid = to_regclass(CASE WHEN :name::text LIKE '%.%' THEN :name ELSE 'public.' || :name END) AND c.relkind IN ('r', 'p')
