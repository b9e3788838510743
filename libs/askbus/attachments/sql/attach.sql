-- Gives uploads of the thread's own user to the thread: each goes to one thread, with as many of its messages as is wanted.
INSERT INTO thread_attachments (attachment_id, thread_id)
SELECT a.id, h.id
  FROM threads h
  JOIN attachments a ON a.project_id = h.project_id AND a.user_id = h.user_id AND a.id = ANY (:ids::uuid[])
 WHERE h.id = :thread_id
   AND (a.expires_at > now() OR EXISTS (SELECT FROM thread_attachments t WHERE t.attachment_id = a.id))
 ORDER BY a.id
    ON CONFLICT (attachment_id) DO UPDATE SET thread_id = EXCLUDED.thread_id WHERE thread_attachments.thread_id = EXCLUDED.thread_id
RETURNING attachment_id
