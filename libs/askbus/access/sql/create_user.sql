-- Makes a user, or finds the one with this e-mail address.
INSERT INTO users (id, email, name) VALUES (:id, :email, :name)
    ON CONFLICT (lower(email)) DO UPDATE SET email = users.email
RETURNING id
