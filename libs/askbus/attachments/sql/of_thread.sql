-- The files of a thread that are asked for: all, or those of these ids. Its newest come first.
SELECT f.id, f.kind, f.media_type, f.name, f.size, f.encoding, f.pages, f.has_text, f.excerpt
  FROM attached_files f
 WHERE f.thread_id = :thread_id AND f.user_id = :user_id AND (:ids::uuid[] IS NULL OR f.id = ANY (:ids::uuid[]))
 ORDER BY f.created_at DESC, f.id DESC
 LIMIT :most
