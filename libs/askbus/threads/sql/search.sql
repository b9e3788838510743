-- A page of the user's own threads in whose title or in one of whose messages every word stands, latest made first, each with its latest such
-- message. `:words` are patterns with their wildcards escaped, `:longest` is the one that the index is asked for.
WITH mine AS MATERIALIZED (
    SELECT t.*
      FROM threads t
      JOIN project_access a ON a.project_id = t.project_id AND a.user_id = t.user_id
     WHERE t.user_id = :user_id AND t.workspace_id = :workspace_id AND NOT t.temporary
       AND (t.expires_at IS NULL OR t.expires_at > now())
       AND (:projects::uuid[] IS NULL OR t.project_id = ANY (:projects::uuid[]))
       AND (:project_id::uuid IS NULL OR t.project_id = :project_id)
       AND (:before::uuid IS NULL OR t.id < :before)),
words AS (SELECT array_agg(casefold(word COLLATE "pg_unicode_fast")) AS folded FROM unnest(:words::text[]) word),
said AS (
    SELECT DISTINCT ON (m.thread_id) m.thread_id, m.id AS message_id, m.role, m.text
      FROM messages m
     WHERE m.thread_id IN (SELECT id FROM mine)
       AND casefold(normalize(m.text, NFKC) COLLATE "pg_unicode_fast") LIKE casefold(:longest::text COLLATE "pg_unicode_fast")
       AND casefold(normalize(m.text, NFKC) COLLATE "pg_unicode_fast") LIKE ALL ((SELECT folded FROM words)::text[])
     ORDER BY m.thread_id, m.seq DESC)
SELECT to_jsonb(t) AS thread, s.message_id, s.role, s.text
  FROM mine t
  LEFT JOIN said s ON s.thread_id = t.id
 WHERE s.thread_id IS NOT NULL
    OR casefold(normalize(t.title, NFKC) COLLATE "pg_unicode_fast") LIKE ALL ((SELECT folded FROM words)::text[])
 ORDER BY t.id DESC
 LIMIT :limit
