-- Deletes a batch of uploads that went nowhere in time.
DELETE FROM attachments a
 WHERE a.id IN (
       SELECT d.id FROM attachments d
        WHERE d.expires_at <= coalesce(:now::timestamptz, now())
          AND NOT EXISTS (SELECT FROM thread_attachments t WHERE t.attachment_id = d.id)
        ORDER BY d.expires_at LIMIT :batch
          FOR UPDATE SKIP LOCKED)
RETURNING a.id
