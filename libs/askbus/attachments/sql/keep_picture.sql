-- Keeps a picture under the id of the call that made it: a second run of the call finds the first one's. No row: the call is gone.
INSERT INTO pictures (id, workspace_id, project_id, user_id, thread_id, media_type, name, size, content, model)
SELECT c.id, c.workspace_id, c.project_id, c.user_id, t.thread_id, :media_type, :name, length(:content::bytea), :content, :model
  FROM tool_calls c
  JOIN turns t ON t.id = c.turn_id
 WHERE c.id = :id
    ON CONFLICT (id) DO UPDATE SET id = EXCLUDED.id
RETURNING id, media_type, name, size
