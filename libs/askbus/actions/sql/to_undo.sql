-- A requested undo, with who asked for it. No row: it is settled, or there is none.
SELECT id, action_id, workspace_id, project_id, user_id FROM undos WHERE id = :undo_id AND state = 'requested'
