-- The asking token has heard the first :heard events of this question (its notes, then its outcome); what came since stays to be told.
-- Sent twice it changes nothing more, since it says how far the agent is and not how far it went.
UPDATE questions
   SET untold = greatest(note_count + (state <> 'open')::int - :heard, 0)
 WHERE id = :id AND token_id = :token_id AND untold > greatest(note_count + (state <> 'open')::int - :heard, 0)
