-- A confirmed action with the operations that were confirmed, and who confirmed them. No row: it is not confirmed, or not any more.
SELECT id, workspace_id, project_id, decided_by AS user_id, coalesce(confirmed, operations) AS operations FROM actions WHERE id = :id AND state = 'confirmed'
