-- Before anything is looked up for a proposal: may this principal propose in the project, and which action does its id or dedupe key
-- already stand for? One row comes back; the action's columns are null where there is none.
SELECT a.*, a.expires_at <= now() AS past,
       EXISTS (SELECT FROM project_access p
                WHERE p.user_id = :user_id AND p.workspace_id = :workspace_id AND p.project_id = :project_id AND p.may_write
                  AND (:projects::uuid[] IS NULL OR p.project_id = ANY (:projects::uuid[]))) AS allowed
  FROM (VALUES (1)) AS one
  LEFT JOIN actions a ON a.id = :id OR (a.dedupe_key = :dedupe_key AND a.project_id = :project_id AND a.proposer_id = :proposer)
 ORDER BY a.id = :id DESC
 LIMIT 1
