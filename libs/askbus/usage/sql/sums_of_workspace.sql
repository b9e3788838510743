-- Everybody's uses of models in a workspace whose owner or admin asks, summed by one of their sides.
SELECT CASE :by::text WHEN 'model' THEN coalesce(u.model, '') WHEN 'user' THEN u.user_id::text WHEN 'project' THEN u.project_id::text
            WHEN 'kind' THEN u.kind ELSE to_char(u.at AT TIME ZONE 'UTC', 'YYYY-MM-DD') END AS key,
       count(*) AS calls, count(*) FILTER (WHERE u.input_tokens IS NULL) AS uncounted,
       coalesce(sum(u.input_tokens), 0)::bigint AS input_tokens, coalesce(sum(u.cached_tokens), 0)::bigint AS cached_tokens,
       coalesce(sum(u.output_tokens), 0)::bigint AS output_tokens, coalesce(sum(u.latency_ms), 0)::bigint AS latency_ms
  FROM usage u
  JOIN project_access a ON a.project_id = u.project_id AND a.user_id = :user_id AND a.role IN ('owner', 'admin')
 WHERE u.workspace_id = :workspace_id AND u.at >= :since AND u.at < :until
   AND (:projects::uuid[] IS NULL OR u.project_id = ANY (:projects::uuid[]))
 GROUP BY 1
 ORDER BY 1
