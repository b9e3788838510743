-- Whose password a code would set. No row: unknown, used or expired.
SELECT l.user_id, u.email, u.name
  FROM login_links l JOIN users u ON u.id = l.user_id
 WHERE l.hash = :code_hash AND l.purpose = 'password' AND l.used_at IS NULL AND l.expires_at > coalesce(:now, now())
