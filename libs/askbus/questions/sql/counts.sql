-- The inbox in three numbers: all open questions that this principal sees; those of them that are for it to answer, now and not put off; and
-- those of these that its person has not seen. The tallies say how many are open. What is over and not swept yet, what was escalated to
-- this person and what they marked is little, and is counted by itself: `OFFSET 0` keeps the planner, which does not know how little that
-- is, to reading it first and in the order of its index.
WITH mine AS MATERIALIZED (
    SELECT a.project_id, a.role, a.may_write
      FROM project_access a
     WHERE a.user_id = :user_id AND a.workspace_id = :workspace_id
       AND (:projects::uuid[] IS NULL OR a.project_id = ANY (:projects::uuid[]))),
shared AS MATERIALIZED (
    SELECT sum(t.open) AS open,
           sum(t.open) FILTER (WHERE m.may_write AND coalesce(t.assignee_id = :user_id, true)
                                 AND NOT (:token_id::uuid IS NOT NULL AND coalesce(t.agent_of = :user_id, false))) AS for_me
      FROM mine m
     CROSS JOIN LATERAL (
           SELECT t.assignee_id, t.agent_of, t.open FROM question_tallies t WHERE t.project_id = m.project_id
           UNION ALL
          (SELECT q.assignee_id, CASE WHEN q.asker_id <> q.user_id THEN q.user_id END, -1
             FROM questions q
            WHERE q.project_id = m.project_id AND q.state = 'open' AND q.turn_id IS NULL AND q.expires_at <= now()
            ORDER BY q.expires_at OFFSET 0)) t),
chats AS MATERIALIZED (
    SELECT count(*) AS open, count(*) FILTER (WHERE m.may_write) AS for_me
      FROM (SELECT q.project_id FROM open_questions q
             WHERE q.user_id = :user_id AND q.turn_id IS NOT NULL
             ORDER BY q.asked_at OFFSET 0) q
      JOIN mine m USING (project_id)),
escalated AS MATERIALIZED (
    SELECT count(*) AS for_me
      FROM mine m
     CROSS JOIN LATERAL (
           SELECT FROM questions q
            WHERE q.project_id = m.project_id AND q.state = 'open' AND q.turn_id IS NULL AND q.expires_at > now()
              AND q.escalate_at <= now() AND (q.escalate_user = :user_id OR m.role <= q.escalate_role)
              AND q.assignee_id IS NOT NULL AND q.assignee_id <> :user_id
              AND NOT (:token_id::uuid IS NOT NULL AND q.token_id IS NOT NULL AND q.user_id = :user_id)
            ORDER BY q.escalate_at OFFSET 0) q
     WHERE m.may_write),
marked AS MATERIALIZED (
    SELECT count(*) FILTER (WHERE k.snoozed_until IS NOT NULL) AS snoozed,
           count(*) FILTER (WHERE k.seen AND k.snoozed_until IS NULL) AS seen
      FROM (SELECT question_id, seen, snoozed_until FROM question_marks_now WHERE user_id = :user_id OFFSET 0) k
     CROSS JOIN LATERAL (
           SELECT FROM questions_now q
             JOIN question_viewers v ON v.question_id = q.id AND v.user_id = :user_id AND v.may_answer
            WHERE q.id = k.question_id AND q.state = 'open' AND (SELECT true FROM mine m WHERE m.project_id = q.project_id)
              AND NOT (:token_id::uuid IS NOT NULL AND q.token_id IS NOT NULL AND q.user_id = :user_id)
           OFFSET 0) q)
SELECT n.open::int, n.for_me::int, (n.for_me - m.seen)::int AS unseen
  FROM marked m
 CROSS JOIN LATERAL (
       SELECT coalesce(s.open, 0) + c.open AS open, coalesce(s.for_me, 0) + c.for_me + e.for_me - m.snoozed AS for_me
         FROM shared s, chats c, escalated e) n
