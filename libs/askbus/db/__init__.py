"""askbus's own Postgres: connections, statements in files, migrations, one role per service."""
