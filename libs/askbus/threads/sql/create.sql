-- Makes a thread in a project that its user may chat in, or finds the one that the same command made. No row: they may not.
WITH made AS (
    INSERT INTO threads (id, workspace_id, project_id, user_id, title, title_given, temporary, idle_limit, client_id, command_id,
                         trace)
    SELECT :id, a.workspace_id, a.project_id, a.user_id, coalesce(:title, ''), :title::text IS NOT NULL, :temporary, :idle_limit,
           :client_id::text, :command_id, :trace
      FROM project_access a
     WHERE a.user_id = :user_id AND a.workspace_id = :workspace_id AND a.project_id = :project_id
       AND (:projects::uuid[] IS NULL OR a.project_id = ANY (:projects::uuid[]))
    ON CONFLICT (command_id) DO UPDATE SET command_id = EXCLUDED.command_id
    RETURNING *)
SELECT * FROM made WHERE user_id = :user_id
