-- A question as it reads now, whoever asks: for the owner's own checks.
SELECT * FROM questions_now WHERE id = :id
