-- Stores the hash of a one-time sign-in code, valid 15 minutes.
INSERT INTO login_links (id, workspace_id, user_id, hash, expires_at)
VALUES (:id, :workspace_id, :user_id, :hash, coalesce(:now, now()) + interval '15 minutes')
