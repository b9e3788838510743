-- Actions in the order in which they last moved, the newest first, by the index actions_moved; `:everything`: also those that changed no
-- record. One that expired and was not swept yet stands where it was proposed.
SELECT r.id, r.project_id, r.headline AS name, n.state, r.at
  FROM project_access p
 CROSS JOIN LATERAL (
       SELECT a.id, a.project_id, a.headline, coalesce(a.settled_at, a.decided_at, a.proposed_at) AS at
         FROM actions a
        WHERE a.project_id = p.project_id
          AND (:everything OR a.state IN ('applied', 'undone'))
          AND (:since::timestamptz IS NULL OR coalesce(a.settled_at, a.decided_at, a.proposed_at) >= :since)
          AND (:until::timestamptz IS NULL OR coalesce(a.settled_at, a.decided_at, a.proposed_at) < :until)
        ORDER BY coalesce(a.settled_at, a.decided_at, a.proposed_at) DESC, a.id DESC
        LIMIT :limit) r
  JOIN actions_now n ON n.id = r.id
 WHERE p.workspace_id = :workspace_id AND p.user_id = :user_id
   AND (:projects::uuid[] IS NULL OR p.project_id = ANY (:projects::uuid[]))
   AND (:project_id::uuid IS NULL OR p.project_id = :project_id)
 ORDER BY r.at DESC, r.id DESC
 LIMIT :limit
