-- Folds a batch of new tallies into the sum of their kind. Another instance's rows are passed over: what is left apart counts as well.
WITH new AS MATERIALIZED (
    SELECT id, project_id, assignee_id, agent_of FROM question_tallies
     WHERE NOT folded ORDER BY id LIMIT :batch
       FOR UPDATE SKIP LOCKED),
old AS MATERIALIZED (
    SELECT o.id FROM question_tallies o
     WHERE o.folded AND o.project_id IN (SELECT project_id FROM new)
       AND EXISTS (SELECT FROM new n WHERE n.project_id = o.project_id AND n.assignee_id IS NOT DISTINCT FROM o.assignee_id
                                       AND n.agent_of IS NOT DISTINCT FROM o.agent_of)
       FOR UPDATE SKIP LOCKED),
taken AS (
    DELETE FROM question_tallies t WHERE t.id IN (SELECT id FROM new UNION ALL SELECT id FROM old)
    RETURNING t.*),
kept AS (
    INSERT INTO question_tallies (project_id, assignee_id, agent_of, open, folded)
    SELECT project_id, assignee_id, agent_of, sum(open), true FROM taken GROUP BY 1, 2, 3 HAVING sum(open) <> 0)
SELECT count(*)::int AS folded FROM new
