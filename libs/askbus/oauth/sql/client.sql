-- An app that registered itself, and whether this is its secret.
SELECT id, url, name, redirect_uris, auth_method, refreshes, hash = :hash AS proved FROM oauth_clients WHERE id = :id AND url IS NULL
