-- Somebody's e-mail address and name, and their password's hash if they have one.
SELECT u.email, u.name, p.hash FROM users u LEFT JOIN passwords p ON p.user_id = u.id WHERE u.id = :user_id
