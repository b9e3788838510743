-- Measures what is kept of a locked thread and drops its oldest turns past :most_messages or :most_bytes, whole, with what they own, but for
-- confirmed actions. Turns that answer the same message are one exchange and go together. No turn that is open goes, and none after one that
-- stays.
WITH kept AS (
    SELECT o.id, asked.queued_at, asked.id AS exchange, o.state IN ('completed', 'failed', 'cancelled') AS over,
           (SELECT count(*) FROM messages m WHERE m.turn_id = o.id) AS messages,
           (SELECT coalesce(sum(pg_column_size(m.text) + coalesce(pg_column_size(m.provider_data), 0)), 0) FROM messages m WHERE m.turn_id = o.id)
           + (SELECT coalesce(sum(pg_column_size(c.arguments) + coalesce(pg_column_size(r.result), 0)), 0)
                FROM tool_calls c LEFT JOIN tool_runs r ON r.id = c.id WHERE c.turn_id = o.id) AS bytes
      FROM turns o JOIN turns asked ON asked.id = coalesce(o.retry_of, o.id)
     WHERE o.thread_id = :id),
measured AS (
    SELECT id, messages, over AND (sum(messages) OVER newest > :most_messages OR sum(bytes) OVER newest > :most_bytes) AS past,
           bool_and(over) OVER (ORDER BY queued_at, exchange) AS nothing_open_before
      FROM kept WINDOW newest AS (ORDER BY queued_at DESC, exchange DESC)),
dropped AS (
    DELETE FROM turns t USING measured m WHERE t.id = m.id AND m.past AND m.nothing_open_before
    RETURNING m.messages)
UPDATE threads
   SET measured = revision, dropped_turns = dropped_turns + (SELECT count(*) FROM dropped),
       dropped_messages = dropped_messages + (SELECT coalesce(sum(messages), 0) FROM dropped)
 WHERE id = :id
RETURNING dropped_turns
