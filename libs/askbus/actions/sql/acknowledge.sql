-- The proposing token has heard the first :heard outcomes of this action (what became of it, then its undo); what came since stays to be told.
-- Sent twice it changes nothing more, since it says how far the agent is and not how far it went.
UPDATE actions
   SET untold = greatest((state NOT IN ('pending', 'confirmed'))::int + (state = 'undone')::int - :heard, 0)
 WHERE id = :id AND token_id = :token_id
   AND untold > greatest((state NOT IN ('pending', 'confirmed'))::int + (state = 'undone')::int - :heard, 0)
