SELECT EXISTS (SELECT FROM askbus_ledger.outcomes WHERE action_id = CAST(:action_id AS uuid) AND state = 'undone')
