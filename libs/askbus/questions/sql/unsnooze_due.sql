-- Tells a batch of people that what they put off is back, each once however many instances sweep.
WITH due AS MATERIALIZED (
    SELECT question_id, user_id FROM question_marks
     WHERE snoozed_until <= coalesce(:now, now())
     ORDER BY snoozed_until LIMIT :batch
       FOR UPDATE SKIP LOCKED)
UPDATE question_marks k SET snoozed_at = NULL, snoozed_until = NULL
  FROM due
 WHERE (k.question_id, k.user_id) = (due.question_id, due.user_id)
RETURNING k.question_id
