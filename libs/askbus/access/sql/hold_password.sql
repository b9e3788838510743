-- Locks a password until the transaction ends: whoever signs in by it waits, or is waited for.
SELECT user_id FROM passwords WHERE user_id = :user_id FOR UPDATE
