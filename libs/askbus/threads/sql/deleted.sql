-- Whether this command of this user's has deleted this thread.
SELECT EXISTS (SELECT FROM audit_log
                WHERE id = :command_id AND event = 'thread.deleted' AND entity_id = :id AND user_id = :user_id) AS deleted
