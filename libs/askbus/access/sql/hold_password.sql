-- Holds a person until the transaction ends: whoever opens a session of theirs by the password, or takes one on to another workspace, waits,
-- or is waited for.
SELECT id FROM users WHERE id = :user_id FOR NO KEY UPDATE
