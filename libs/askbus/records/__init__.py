"""The team's own records in any Postgres: its live schema, typed reads, names to records, and changes that a ledger proves."""
