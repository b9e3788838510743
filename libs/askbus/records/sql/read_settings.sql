-- Set for this transaction alone: the time limits, one spelling of every value, and who asks, for row-level security policies.
SELECT set_config('statement_timeout', :timeout, true),
       set_config('lock_timeout', :lock_timeout, true),
       set_config('TimeZone', 'UTC', true),
       set_config('DateStyle', 'ISO, YMD', true),
       set_config('IntervalStyle', 'iso_8601', true),
       set_config('extra_float_digits', '1', true),
       set_config('bytea_output', 'hex', true),
       set_config('jit', 'off', true),
       set_config('askbus.user_id', :user_id, true),
       set_config('askbus.workspace_id', :workspace_id, true)
