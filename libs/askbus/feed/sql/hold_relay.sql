-- Takes or keeps the lease of an owner's relay, and stores how far its holder has published.
-- :cursor is null for one who does not hold it yet. No row: another instance holds it.
UPDATE relays
   SET holder = :holder, lease_until = now() + make_interval(secs => :lease), cursor = coalesce(:cursor::text, cursor)
 WHERE owner = :owner AND (holder = :holder OR (:cursor::text IS NULL AND (holder IS NULL OR lease_until < now())))
RETURNING cursor
