-- Why `ask` stored nothing: whether the asker may ask in this project, and who of the people named could not answer there.
SELECT EXISTS (SELECT FROM project_access a
                WHERE a.user_id = :user_id AND a.workspace_id = :workspace_id AND a.project_id = :project_id AND a.may_write
                  AND (:projects::uuid[] IS NULL OR a.project_id = ANY (:projects::uuid[]))) AS allowed,
       ARRAY(SELECT n.named FROM unnest(:named::uuid[]) WITH ORDINALITY AS n (named, place)
              WHERE NOT EXISTS (SELECT FROM project_access b
                                 WHERE b.user_id = n.named AND b.project_id = :project_id AND b.may_write)
              ORDER BY n.place) AS unable
