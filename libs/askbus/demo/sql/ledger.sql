-- What the ledger beside the records says of an action, oldest first.
SELECT string_agg(state, ', ' ORDER BY at) AS states FROM askbus_ledger.outcomes WHERE action_id = :action_id
