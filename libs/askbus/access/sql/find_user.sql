-- A person by their e-mail address or id.
SELECT id, name, email FROM users WHERE lower(email) = lower(:named) OR id::text = lower(:named)
