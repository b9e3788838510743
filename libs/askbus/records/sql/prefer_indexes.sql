-- For the rest of this transaction, which only asks how Postgres would read: by the conditions of an index wherever there is one.
SELECT set_config('enable_seqscan', 'off', true),
       set_config('enable_indexscan', 'off', true),
       set_config('enable_indexonlyscan', 'off', true)
