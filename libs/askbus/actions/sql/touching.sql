-- Which actions were about a record: those that were to update it, and those that wrote it, under its key before or after.
SELECT id FROM actions WHERE workspace_id = :workspace_id AND operations @> :record::jsonb
UNION
SELECT id FROM actions WHERE workspace_id = :workspace_id AND outcome IS NOT NULL
                         AND (outcome -> 'images' @> :record::jsonb OR outcome -> 'images' @> :was::jsonb)
