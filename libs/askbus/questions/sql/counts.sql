-- The inbox in two numbers: all open questions that this principal sees, and those that are for it to answer.
SELECT count(*)::int AS open, (count(*) FILTER (WHERE v.may_answer AND NOT (:token_id::uuid IS NOT NULL AND q.token_id IS NOT NULL AND q.user_id = :user_id)))::int AS for_me
  FROM questions q
  JOIN question_viewers v ON v.question_id = q.id AND v.user_id = :user_id
 WHERE q.workspace_id = :workspace_id AND q.state = 'open' AND q.expires_at > now()
   AND (:projects::uuid[] IS NULL OR q.project_id = ANY (:projects::uuid[]))
