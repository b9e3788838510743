-- How long calls with this token may wait for people, where its owner said so.
SELECT mcp_hold FROM tokens WHERE id = :id
