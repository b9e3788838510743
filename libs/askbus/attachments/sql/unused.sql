-- How many uploads of a user wait to go with a message.
SELECT count(*) AS waiting
  FROM attachments a
 WHERE a.user_id = :user_id AND a.expires_at > now()
   AND NOT EXISTS (SELECT FROM thread_attachments t WHERE t.attachment_id = a.id)
