-- From here to the end of this transaction with the rights of another role, as SET LOCAL ROLE does; the name is a value, never spliced.
SELECT set_config('role', :role, true)
