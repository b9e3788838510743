SELECT id, kind, action_id, state, at, images::text AS images, mismatches::text AS mismatches, problem::text AS problem
  FROM askbus_ledger.outcomes
 WHERE id = CAST(:id AS uuid)
