-- A person refuses: the page's ticket is used up. No row: not this session's page, decided already, or over.
UPDATE oauth_requests SET decided_at = coalesce(:now, now())
 WHERE hash = :hash AND session_id = :session_id AND decided_at IS NULL AND expires_at > coalesce(:now, now())
RETURNING redirect_uri, state
