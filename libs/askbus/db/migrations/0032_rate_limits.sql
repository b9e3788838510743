-- How much of each limit is used, shared by all gateways. Unlogged: after a crash of Postgres every bucket is full, and no take waits for a disk.
CREATE UNLOGGED TABLE rate_limits (
    bucket   text NOT NULL,
    key      uuid NOT NULL,
    full_at  timestamptz NOT NULL,
    PRIMARY KEY (bucket, key)
) WITH (fillfactor = 50);
-- Of this kind, because it leaves updates within their page: a take writes no index.
CREATE INDEX rate_limits_full ON rate_limits USING brin (full_at);
COMMENT ON TABLE rate_limits IS 'writer: gateway, question-broker. A bucket of permits from which somebody took: one whose row is missing is full.';
COMMENT ON COLUMN rate_limits.key IS 'The id of whoever is limited, or a digest of the account or address.';
COMMENT ON COLUMN rate_limits.full_at IS 'When the bucket is full again if nobody takes any more: from then on the row says nothing.';
