-- Back to what the team's defaults, checks and triggers expect; the time limits and who acts stay.
SELECT set_config(name, reset_val, true)
  FROM pg_catalog.pg_settings
 WHERE name IN ('TimeZone', 'DateStyle', 'IntervalStyle', 'extra_float_digits', 'bytea_output')
