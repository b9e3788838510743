-- Somebody by their e-mail address, with their password's hash if they have one.
SELECT u.id AS user_id, p.hash FROM users u LEFT JOIN passwords p ON p.user_id = u.id WHERE lower(u.email) = lower(:email)
