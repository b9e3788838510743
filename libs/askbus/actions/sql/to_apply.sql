-- A confirmed action as its operations were shown, with who confirmed it. No row: it is not confirmed, or not any more.
SELECT id, workspace_id, project_id, decided_by AS user_id, operations FROM actions WHERE id = :id AND state = 'confirmed'
