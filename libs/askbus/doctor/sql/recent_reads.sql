-- The latest plans with which models read records: which fields they name says which indexes would help.
SELECT arguments FROM tool_calls WHERE name = 'query_records' AND state = 'requested' ORDER BY id DESC LIMIT 2000
