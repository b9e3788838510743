UPDATE users SET locale = :locale WHERE id = :id
