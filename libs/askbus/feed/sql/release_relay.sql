-- Gives the lease back at a clean stop, so that another instance takes it at once.
UPDATE relays SET holder = NULL, lease_until = NULL, cursor = :cursor WHERE owner = :owner AND holder = :holder
