-- The bytes of a file.
SELECT coalesce((SELECT content FROM attachment_contents WHERE attachment_id = :id),
                (SELECT content FROM pictures WHERE id = :id)) AS content
