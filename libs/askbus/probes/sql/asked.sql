-- What a turn asks its user.
SELECT text, options
  FROM questions
 WHERE turn_id = :turn_id
 ORDER BY asked_at
