-- Whether the server has pg_trgm to install.
SELECT EXISTS (SELECT FROM pg_catalog.pg_available_extensions WHERE name = 'pg_trgm')
