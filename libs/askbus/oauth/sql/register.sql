-- Stores an app that registered itself. No row: there are too many already that nobody ever allowed anything.
INSERT INTO oauth_clients (id, name, redirect_uris, auth_method, refreshes, hash)
SELECT :id, :name, :redirect_uris, :auth_method, :refreshes, :hash
 WHERE (SELECT count(*) FROM (SELECT FROM oauth_clients WHERE used_at IS NULL AND created_at > '-infinity' LIMIT :most) unused) < :most
RETURNING id, url, name, redirect_uris, auth_method, refreshes
