-- What the probe's conversation cost was spent on a probe.
UPDATE usage SET kind = 'probe' WHERE thread_id = :thread_id AND kind = 'chat'
