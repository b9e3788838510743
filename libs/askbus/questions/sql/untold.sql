-- What a token asked and has not acknowledged hearing about, oldest first.
SELECT q.*, asker.name AS asked_by, token.name AS asked_with, settler.name AS settled_by_name,
       coalesce((SELECT jsonb_agg(jsonb_build_object('id', n.id, 'user_id', n.user_id, 'text', n.text, 'at', n.at) ORDER BY n.at, n.id)
                   FROM question_notes n WHERE n.question_id = q.id), '[]') AS notes
  FROM questions_now q
  JOIN users asker ON asker.id = q.user_id
  JOIN tokens token ON token.id = q.token_id
  LEFT JOIN users settler ON settler.id = q.settled_by
 WHERE q.token_id = :token_id AND q.untold > 0
 ORDER BY q.id
 LIMIT :limit
