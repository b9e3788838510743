-- The user's own thread of this project that a front end names: by what it calls it, or by its id. No row: they do not see the project;
-- a row without a thread: there is none of theirs, whether or not somebody else has one of that id.
SELECT found.id
  FROM project_access a
  LEFT JOIN LATERAL (
       SELECT t.id FROM threads t
        WHERE t.project_id = a.project_id AND t.user_id = a.user_id AND (t.client_id = :name OR t.id = :id::uuid)
           AND (t.expires_at IS NULL OR t.expires_at > now())
        ORDER BY t.client_id IS NULL
        LIMIT 1) found ON true
 WHERE a.project_id = :project_id AND a.user_id = :user_id AND a.workspace_id = :workspace_id
   AND (:projects::uuid[] IS NULL OR a.project_id = ANY (:projects::uuid[]))
