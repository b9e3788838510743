-- For the rest of this transaction: what pg_trgm's % means, and how long names that look alike are looked for.
SELECT set_config('pg_trgm.similarity_threshold', :alike, true), set_config('statement_timeout', :timeout, true)
