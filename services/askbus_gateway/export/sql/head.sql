-- A thread of the user's own, while they see its project, its project's name, and how much was said in it, in bytes.
SELECT to_jsonb(t) AS thread, p.name AS project,
       (SELECT coalesce(sum(octet_length(m.text)), 0)::bigint FROM messages m WHERE m.thread_id = t.id) AS size
  FROM threads t
  JOIN project_access a ON a.project_id = t.project_id AND a.user_id = t.user_id
  JOIN projects p ON p.id = t.project_id
 WHERE t.id = :id AND t.user_id = :user_id AND t.workspace_id = :workspace_id
   AND (:projects::uuid[] IS NULL OR t.project_id = ANY (:projects::uuid[]))
   AND (t.expires_at IS NULL OR t.expires_at > now())
