-- One settles an action at a time; the others wait here and then read what the first wrote.
SELECT pg_advisory_xact_lock(hashtext('askbus_ledger'), hashtext(CAST(:action_id AS text)))
