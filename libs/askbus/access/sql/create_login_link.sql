-- Stores the hash of a one-time code that signs in or sets a password, valid 15 minutes.
INSERT INTO login_links (id, workspace_id, user_id, hash, purpose, expires_at)
VALUES (:id, :workspace_id, :user_id, :hash, :purpose, coalesce(:now, now()) + interval '15 minutes')
