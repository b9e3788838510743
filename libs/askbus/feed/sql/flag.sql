-- Whether writers nudge, and the transaction from which on all of them know.
SELECT nudged, pg_snapshot_xmax(pg_current_snapshot())::text::bigint AS known_from FROM feed
