-- What a model is sent of an upload: all of it, or the smaller picture that was made of it.
SELECT coalesce(reduced, content) AS content, reduced_type FROM attachment_contents WHERE attachment_id = :id
