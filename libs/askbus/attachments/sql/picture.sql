-- The picture that a call has made already.
SELECT id, media_type, name, size FROM pictures WHERE id = :id
