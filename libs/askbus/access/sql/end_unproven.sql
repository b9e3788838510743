-- What let anybody act as this user before they proved their address: browsers' sessions, and the password. API tokens reach one workspace.
WITH gone AS (DELETE FROM passwords WHERE user_id = :user_id)
UPDATE sessions SET state = 'revoked', trace = :trace WHERE user_id = :user_id AND state = 'active' AND id <> :session_id
