-- The next statement of this transaction is planned with the values that it is given.
SELECT set_config('plan_cache_mode', 'force_custom_plan', true)
