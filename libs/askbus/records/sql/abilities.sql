-- What this server offers for finding names: which case folding, and where trigram similarity lives.
SELECT current_setting('server_version_num')::int AS version,
       current_setting('server_encoding') = 'UTF8' AS utf8,
       EXISTS (SELECT FROM pg_catalog.pg_collation WHERE collname = 'und-x-icu') AS icu,
       (SELECT n.nspname
          FROM pg_catalog.pg_extension x JOIN pg_catalog.pg_namespace n ON n.oid = x.extnamespace
         WHERE x.extname = 'pg_trgm') AS trigrams
