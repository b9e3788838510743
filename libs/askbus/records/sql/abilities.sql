-- What this server offers for finding names: which case folding, where trigram similarity lives, and what is a letter to it.
SELECT current_setting('server_version_num')::int AS version,
       current_setting('server_encoding') = 'UTF8' AS utf8,
       EXISTS (SELECT FROM pg_catalog.pg_collation WHERE collname = 'und-x-icu') AS icu,
       (SELECT n.nspname
          FROM pg_catalog.pg_extension x JOIN pg_catalog.pg_namespace n ON n.oid = x.extnamespace
         WHERE x.extname = 'pg_trgm' AND has_schema_privilege(n.oid, 'USAGE')) AS trigrams,
       (SELECT d.datctype NOT IN ('C', 'POSIX') FROM pg_catalog.pg_database d WHERE d.datname = current_database()) AS letters
