-- Whether the ledger is there, and whether this role may use it.
SELECT to_regclass('askbus_ledger.outcomes') IS NOT NULL AS made,
       coalesce(has_schema_privilege(to_regnamespace('askbus_ledger'), 'USAGE')
                AND has_table_privilege(to_regclass('askbus_ledger.outcomes'), 'SELECT')
                AND has_table_privilege(to_regclass('askbus_ledger.outcomes'), 'INSERT'), false) AS usable
