-- Stores an upload in a project that its user sees, or finds the one that the same command stored. No row: no such project, or :most of
-- the user's uploads wait already.
WITH place AS (
    SELECT a.workspace_id, a.project_id, a.user_id
      FROM project_access a
     WHERE a.user_id = :user_id AND a.workspace_id = :workspace_id AND a.project_id = :project_id
       AND (:projects::uuid[] IS NULL OR a.project_id = ANY (:projects::uuid[]))
       AND (SELECT count(*) FROM attachments u
             WHERE u.user_id = a.user_id AND u.expires_at > now()
               AND NOT EXISTS (SELECT FROM thread_attachments t WHERE t.attachment_id = u.id)) < :most),
made AS (
    INSERT INTO attachments (id, workspace_id, project_id, user_id, kind, media_type, name, size, encoding, pages, has_text, excerpt, command_id)
    SELECT :id, workspace_id, project_id, user_id, :kind::attachment_kind, :media_type, :name, length(:content::bytea), :encoding, :pages,
           :has_text, :excerpt, :command_id
      FROM place
    ON CONFLICT (command_id) DO UPDATE SET command_id = EXCLUDED.command_id
    RETURNING *),
kept AS (
    INSERT INTO attachment_contents (attachment_id, content, reduced, reduced_type)
    SELECT id, :content, :reduced::bytea, :reduced_type::text FROM made WHERE id = :id)
SELECT m.id, m.workspace_id, m.project_id, m.user_id, t.thread_id, m.kind, m.media_type, m.name, m.size, m.pages, m.created_at,
       CASE WHEN t.thread_id IS NULL THEN m.expires_at END AS expires_at
  FROM made m
  LEFT JOIN thread_attachments t ON t.attachment_id = m.id
 WHERE m.user_id = :user_id
