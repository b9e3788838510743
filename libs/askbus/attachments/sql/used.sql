-- Which of these files of the thread's own user have gone to another thread.
SELECT f.id
  FROM attached_files f
  JOIN threads h ON h.id = :thread_id AND h.user_id = f.user_id AND h.project_id = f.project_id
 WHERE f.id = ANY (:ids::uuid[]) AND f.thread_id IS DISTINCT FROM h.id AND f.thread_id IS NOT NULL
