-- Whose identity at an issuer this is.
SELECT user_id FROM identities WHERE issuer = :issuer AND subject = :subject
