-- Switches the nudge, and wakes every reader once so that it takes note. No row: it stands so already.
WITH moved AS (UPDATE feed SET nudged = :nudged::boolean WHERE nudged <> :nudged RETURNING nudged)
SELECT pg_notify('askbus', '') FROM moved
