-- One spelling of every value, as in read_settings.
SELECT set_config('TimeZone', 'UTC', true),
       set_config('DateStyle', 'ISO, YMD', true),
       set_config('IntervalStyle', 'iso_8601', true),
       set_config('extra_float_digits', '1', true),
       set_config('bytea_output', 'hex', true)
