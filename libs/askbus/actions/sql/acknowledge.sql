-- The proposing token has heard `heard` outcomes of this action; what came since stays to be told.
UPDATE actions SET untold = greatest(untold - :heard, 0) WHERE id = :id AND token_id = :token_id AND untold > 0
