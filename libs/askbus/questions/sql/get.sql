-- Questions as these principals may see them, each by itself: its viewers, and the asker. No row: it does not exist, or not for them.
SELECT w.place, found.*
  FROM jsonb_to_recordset(:wanted) AS w(place int, id uuid, user_id uuid, workspace_id uuid, token_id uuid, projects uuid[])
 CROSS JOIN LATERAL (
       SELECT q.*, asker.name AS asked_by, token.name AS asked_with, settler.name AS settled_by_name,
              v.may_answer AND NOT (w.token_id IS NOT NULL AND q.token_id IS NOT NULL AND q.user_id = w.user_id) AS may_answer,
              coalesce(k.seen, false) AS seen, k.snoozed_until,
              coalesce((SELECT jsonb_agg(jsonb_build_object('id', n.id, 'user_id', n.user_id, 'text', n.text, 'at', n.at) ORDER BY n.at, n.id)
                          FROM question_notes n WHERE n.question_id = q.id), '[]') AS notes
         FROM questions_now q
         JOIN question_viewers v ON v.question_id = q.id AND v.user_id = w.user_id
         JOIN users asker ON asker.id = q.user_id
         LEFT JOIN tokens token ON token.id = q.token_id
         LEFT JOIN users settler ON settler.id = q.settled_by
         LEFT JOIN question_marks_now k ON k.question_id = q.id AND k.user_id = w.user_id
        WHERE q.id = w.id AND q.workspace_id = w.workspace_id
          AND (w.projects IS NULL OR q.project_id = ANY (w.projects))
       OFFSET 0) found
