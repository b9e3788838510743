-- The customer whose address is changed, and every byte of their row.
SELECT email, c::text AS row FROM customers c WHERE name = 'René Marchal'
