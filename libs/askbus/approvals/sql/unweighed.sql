-- Pending actions that rest although a standing approval for their conversation or token was to be looked at; each handed to one caller.
WITH resting AS MATERIALIZED (
    SELECT id FROM actions a
     WHERE state = 'pending' AND weighed_at IS NULL AND expires_at > now()
       AND greatest(proposed_at, woken_at) < now() - make_interval(secs => :rested)
       AND EXISTS (SELECT FROM approvals_of_actions o JOIN standing_approvals s ON s.id = o.approval_id
                    WHERE o.action_id = a.id AND s.state = 'active')
     ORDER BY proposed_at LIMIT :batch
       FOR UPDATE SKIP LOCKED)
UPDATE actions r SET woken_at = now() FROM resting WHERE r.id = resting.id
RETURNING r.id
