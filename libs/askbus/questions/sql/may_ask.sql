-- Why `ask` stored nothing: whether the asker may ask in this project, and whether the assignee could answer there.
SELECT EXISTS (SELECT FROM project_access a
                WHERE a.user_id = :user_id AND a.workspace_id = :workspace_id AND a.project_id = :project_id AND a.may_write
                  AND (:projects::uuid[] IS NULL OR a.project_id = ANY (:projects::uuid[]))) AS allowed,
       :assignee_id::uuid IS NULL
       OR EXISTS (SELECT FROM project_access b
                   WHERE b.user_id = :assignee_id AND b.project_id = :project_id AND b.may_write) AS assignable
