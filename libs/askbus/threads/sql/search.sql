-- A page of the user's own threads in whose title or in one of whose messages every word stands, latest made first, each with its latest such
-- message. `:words` are patterns with their wildcards escaped. Threads are looked at one by one until the page is full: what is read is the
-- searcher's own, by the indexes that lead to it, and an index of words would cost every message more than it gives a search.
SELECT to_jsonb(t) AS thread, said.message_id, said.role, said.text
  FROM (SELECT o.*
          FROM threads o
          JOIN project_access a ON a.project_id = o.project_id AND a.user_id = o.user_id
         WHERE o.user_id = :user_id AND o.workspace_id = :workspace_id AND NOT o.temporary
           AND (o.expires_at IS NULL OR o.expires_at > now())
           AND (:projects::uuid[] IS NULL OR o.project_id = ANY (:projects::uuid[]))
           AND (:project_id::uuid IS NULL OR o.project_id = :project_id)
           AND (:before::uuid IS NULL OR o.id < :before)
         ORDER BY o.id DESC) t
 CROSS JOIN (SELECT array_agg(casefold(word COLLATE "pg_unicode_fast")) AS folded FROM unnest(:words::text[]) word) words
  LEFT JOIN LATERAL (
       SELECT m.id AS message_id, m.role, m.text
         FROM messages m
        WHERE m.thread_id = t.id AND casefold(m.text COLLATE "pg_unicode_fast") LIKE ALL (words.folded)
        ORDER BY m.seq DESC LIMIT 1) said ON true
 WHERE said.message_id IS NOT NULL OR casefold(t.title COLLATE "pg_unicode_fast") LIKE ALL (words.folded)
 ORDER BY t.id DESC
 LIMIT :limit
