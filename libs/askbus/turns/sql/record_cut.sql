-- Keeps what a stopped or failed model call had said, once, under its step. The turn is over already.
WITH thread AS (SELECT id, revision FROM threads WHERE id = (SELECT thread_id FROM turns WHERE id = :id) FOR UPDATE),
counted AS (
    UPDATE threads h SET revision = h.revision + 1, updated_at = now()
      FROM thread
     WHERE h.id = thread.id
       AND EXISTS (SELECT FROM turns t WHERE t.id = :id AND t.step = :step AND t.attempt = :attempt AND t.state IN ('cancelled', 'failed'))
       AND NOT EXISTS (SELECT FROM messages m WHERE m.turn_id = :id AND m.step = :step)
    RETURNING h.id, h.revision)
INSERT INTO messages (id, thread_id, seq, turn_id, step, role, text, model, cut)
SELECT :message_id, id, revision, :id, :step, 'assistant', :text, :model, :cut FROM counted
