-- What is going on for a user now, by id and state, in the projects that they see: all read in one snapshot, which comes with it.
WITH mine AS MATERIALIZED (
    SELECT a.project_id FROM project_access a
     WHERE a.user_id = :user_id AND a.workspace_id = :workspace_id
       AND (:projects::uuid[] IS NULL OR a.project_id = ANY (:projects::uuid[]))),
asked AS MATERIALIZED (
    SELECT q.id, q.project_id, q.assignee_id,
           NOT coalesce(k.seen, false) AS unseen,
           v.may_answer AND NOT (:token_id::uuid IS NOT NULL AND q.token_id IS NOT NULL AND q.user_id = :user_id) AND k.snoozed_until IS NULL AS may_answer
      FROM open_questions q
      JOIN mine USING (project_id)
      JOIN question_viewers v ON v.question_id = q.id AND v.user_id = :user_id
      LEFT JOIN question_marks_now k ON k.question_id = q.id AND k.user_id = :user_id),
entities AS (
    SELECT 'question' AS entity, id, 'open' AS status, project_id, assignee_id FROM asked
    UNION ALL
    SELECT 'action', a.id, a.state::text, a.project_id, NULL
      FROM actions a JOIN mine USING (project_id)
     WHERE a.state = 'confirmed' OR (a.state = 'pending' AND a.expires_at > now())
    UNION ALL
    SELECT 'standing_approval', s.id, s.state::text, s.project_id, NULL
      FROM standing_approvals s JOIN mine USING (project_id)
     WHERE s.state = 'active' AND s.expires_at > now()
    UNION ALL
    SELECT 'turn', t.id, t.state::text, t.project_id, NULL
      FROM turns t JOIN mine USING (project_id)
     WHERE t.user_id = :user_id AND t.state IN ('queued', 'running', 'waiting'))
SELECT pg_current_snapshot()::text AS cursor,
       (SELECT epoch FROM feed) AS epoch,
       (SELECT coalesce(jsonb_agg(jsonb_build_object('entity', entity, 'id', id, 'op', 'upsert', 'status', status, 'project', project_id,
                                                     'assignee', assignee_id) ORDER BY entity, id), '[]')
          FROM entities WHERE entity = ANY (:entities::text[])) AS entities,
       (SELECT count(*)::int FROM asked) AS open,
       (SELECT count(*)::int FROM asked WHERE may_answer) AS for_me,
       (SELECT count(*)::int FROM asked WHERE may_answer AND unseen) AS unseen
