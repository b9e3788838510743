-- Keeps a sign-in at an issuer that a browser began, for 10 minutes.
INSERT INTO sign_in_attempts (id, hash, browser_hash, provider, return_to, expires_at)
VALUES (:id, :hash, :browser_hash, :provider, :return_to, coalesce(:now, now()) + interval '10 minutes')
