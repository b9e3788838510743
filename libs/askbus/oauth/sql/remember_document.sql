-- An app by its metadata document as it was just read, and for how long it is taken as read.
INSERT INTO oauth_clients (id, url, name, redirect_uris, auth_method, refreshes, fresh_until)
VALUES (:id, :url, :name, :redirect_uris, 'none', :refreshes, now() + make_interval(secs => :fresh_for))
    ON CONFLICT (url) DO UPDATE
   SET name = EXCLUDED.name, redirect_uris = EXCLUDED.redirect_uris, refreshes = EXCLUDED.refreshes, fresh_until = EXCLUDED.fresh_until
RETURNING id, url, name, redirect_uris, auth_method, refreshes
