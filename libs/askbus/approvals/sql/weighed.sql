-- No standing approval confirmed this action: it stays pending, for people, and is not looked at again.
UPDATE actions SET weighed_at = now() WHERE id = :action_id AND state = 'pending' AND weighed_at IS NULL
