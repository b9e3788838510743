-- Uses up a sign-in at an issuer. Of two who come back with one state, one is let through. No row: unknown, used, too old, or begun
-- in another browser.
DELETE FROM sign_in_attempts
 WHERE hash = :hash AND browser_hash = :browser_hash AND provider = :provider AND expires_at > now()
RETURNING return_to
