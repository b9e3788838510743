-- The same password under the parameters of today, unless it was changed meanwhile.
UPDATE passwords SET hash = :hash WHERE user_id = :user_id AND hash = :old_hash
