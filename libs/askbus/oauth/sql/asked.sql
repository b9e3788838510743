-- What the page of this session asks for, while it may be decided, with the app as it is now.
SELECT r.scopes, r.redirect_uri, c.id, c.url, c.name, c.redirect_uris, c.auth_method, c.refreshes
  FROM oauth_requests r JOIN oauth_clients c ON c.id = r.client_id
 WHERE r.hash = :hash AND r.session_id = :session_id AND r.decided_at IS NULL AND r.expires_at > coalesce(:now, now())
