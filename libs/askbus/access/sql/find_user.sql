SELECT id, name, email FROM users WHERE lower(email) = lower(:email)
