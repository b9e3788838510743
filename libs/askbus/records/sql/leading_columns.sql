-- Of every whole, valid index of these tables: its columns in their order, up to the first that is an expression.
SELECT i.indrelid::int8 AS oid,
       (SELECT coalesce(array_agg(a.attname::text ORDER BY k.place), '{}')
          FROM unnest(i.indkey::int2[]) WITH ORDINALITY AS k (attnum, place)
          JOIN pg_catalog.pg_attribute a ON a.attrelid = i.indrelid AND a.attnum = k.attnum
         WHERE k.place <= i.indnkeyatts
           AND k.place < ALL (SELECT e.place FROM unnest(i.indkey::int2[]) WITH ORDINALITY AS e (attnum, place) WHERE e.attnum = 0)
       ) AS columns
  FROM pg_catalog.pg_index i
  JOIN pg_catalog.pg_class c ON c.oid = i.indexrelid
  JOIN pg_catalog.pg_am m ON m.oid = c.relam AND m.amname = 'btree'
 WHERE i.indrelid = ANY (CAST(:tables AS int8[])) AND i.indisvalid AND i.indpred IS NULL
