-- Where the log stands: its epoch, the current snapshot, and the newest transaction that was pruned from it.
SELECT epoch, pg_current_snapshot()::text AS cursor, pruned::text::bigint AS pruned FROM feed
