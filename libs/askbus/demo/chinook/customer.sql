-- The customer whose address is changed, and every byte of their row.
SELECT email, c::text AS row FROM customer c WHERE last_name = 'Wichterlová'
