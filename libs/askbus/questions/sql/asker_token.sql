-- The token that has something to hear about this question, if any.
SELECT token_id FROM questions WHERE id = :id AND token_id IS NOT NULL AND untold > 0
