-- Questions in the order in which they were asked or settled, the newest first, by the index questions_moved. A chat's own question is its
-- user's alone. One that expired and was not swept yet stands where it was asked.
SELECT r.id, r.project_id, r.title AS name, n.state, r.at
  FROM project_access p
 CROSS JOIN LATERAL (
       SELECT q.id, q.project_id, q.title, coalesce(q.settled_at, q.asked_at) AS at
         FROM questions q
        WHERE q.project_id = p.project_id
          AND (q.turn_id IS NULL OR q.user_id = :user_id)
          AND (:since::timestamptz IS NULL OR coalesce(q.settled_at, q.asked_at) >= :since)
          AND (:until::timestamptz IS NULL OR coalesce(q.settled_at, q.asked_at) < :until)
        ORDER BY coalesce(q.settled_at, q.asked_at) DESC, q.id DESC
        LIMIT :limit) r
  JOIN questions_now n ON n.id = r.id
 WHERE p.workspace_id = :workspace_id AND p.user_id = :user_id
   AND (:projects::uuid[] IS NULL OR p.project_id = ANY (:projects::uuid[]))
   AND (:project_id::uuid IS NULL OR p.project_id = :project_id)
 ORDER BY r.at DESC, r.id DESC
 LIMIT :limit
