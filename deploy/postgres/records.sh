#!/usr/bin/env bash
# Run by the Postgres image when it makes its cluster: a database with the sample business, owned by a role that owns nothing else.
set -euo pipefail
psql -v ON_ERROR_STOP=1 -v password="$RECORDS_PASSWORD" --username "$POSTGRES_USER" <<'SQL'
CREATE ROLE records LOGIN PASSWORD :'password';
CREATE DATABASE records OWNER records;
SQL
psql -v ON_ERROR_STOP=1 --username "$POSTGRES_USER" --dbname records \
    -c 'SET ROLE records' -f /sample.sql
