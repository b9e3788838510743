-- Deletes an upload of the user's own that went nowhere. One row comes back: where it went, if it did, and nothing was deleted then.
WITH mine AS (
    SELECT f.id, f.thread_id
      FROM attached_files f
      JOIN project_access a ON a.project_id = f.project_id AND a.user_id = f.user_id
     WHERE f.id = :id AND f.user_id = :user_id AND f.workspace_id = :workspace_id
       AND (:projects::uuid[] IS NULL OR f.project_id = ANY (:projects::uuid[]))),
gone AS (DELETE FROM attachments a USING mine WHERE a.id = mine.id AND mine.thread_id IS NULL RETURNING a.id)
SELECT mine.thread_id FROM mine LEFT JOIN gone ON gone.id = mine.id
