-- An app by the address of its metadata document, as it was last read.
SELECT id, url, name, redirect_uris, auth_method, refreshes, fresh_until > now() AS fresh FROM oauth_clients WHERE url = :url
