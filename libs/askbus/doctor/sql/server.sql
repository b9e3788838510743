-- What kind of server askbus's own Postgres is, and its clock.
SELECT current_setting('server_version') AS version,
       current_setting('server_version_num')::int / 10000 AS major,
       pg_is_in_recovery() AS standby,
       current_setting('fsync') = 'on' AS fsync,
       current_setting('max_connections')::int - current_setting('superuser_reserved_connections')::int AS connections,
       extract(epoch FROM clock_timestamp())::float8 AS clock
