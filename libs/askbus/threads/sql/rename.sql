-- Gives the user's own thread a name. No row: not theirs.
UPDATE threads h SET title = :title, title_given = true, trace = :trace
  FROM (SELECT t.id
          FROM threads t
          JOIN project_access a ON a.project_id = t.project_id AND a.user_id = t.user_id
         WHERE t.id = :id AND t.user_id = :user_id AND t.workspace_id = :workspace_id
           AND (:projects::uuid[] IS NULL OR t.project_id = ANY (:projects::uuid[]))
           AND (t.expires_at IS NULL OR t.expires_at > now())
           FOR UPDATE OF t) own
 WHERE h.id = own.id
RETURNING h.*
