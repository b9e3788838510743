-- The asking token has heard `heard` events of this question; what came since stays to be told.
UPDATE questions SET untold = greatest(untold - :heard, 0) WHERE id = :id AND token_id = :token_id AND untold > 0
