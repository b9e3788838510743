-- Uses up a requestState, if it is this caller's for this request and its time is not over. Of two uses one wins.
-- No row: there is none, or it was given to somebody else or for something else; then nothing was used up.
WITH current AS (
    SELECT * FROM mcp_states WHERE hash = :hash AND token_id = :token_id AND request = :request FOR UPDATE),
used AS (
    UPDATE mcp_states s SET used_at = coalesce(:now, now())
      FROM current
     WHERE s.id = current.id AND current.used_at IS NULL AND current.expires_at > coalesce(:now, now())
    RETURNING s.id)
SELECT question_id, EXISTS (SELECT FROM used) AS moved, used_at IS NOT NULL AS replayed FROM current
