-- The token that has something to hear about this action, if any.
SELECT token_id FROM actions WHERE id = :id AND token_id IS NOT NULL AND untold > 0
