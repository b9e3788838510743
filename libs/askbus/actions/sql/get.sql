-- Actions as these principals may see them, with what they change, each by itself. No row: it does not exist, or not for them.
SELECT w.place, found.*
  FROM jsonb_to_recordset(:wanted) AS w(place int, id uuid, user_id uuid, workspace_id uuid, projects uuid[])
 CROSS JOIN LATERAL (
       SELECT n.*, a.operations, a.decisions, a.confirmed, a.outcome, proposer.name AS proposed_by, token.name AS proposed_with, decider.name AS decided_by_name,
              coalesce((SELECT jsonb_agg(jsonb_build_object('id', u.id, 'action_id', u.action_id, 'user_id', u.user_id, 'state', u.state,
                                                            'requested_at', u.requested_at, 'settled_at', u.settled_at,
                                                            'rest', u.rest, 'group_id', u.group_id,
                                                            'requested_by', who.name, 'outcome', u.outcome) ORDER BY u.requested_at, u.id)
                          FROM undos u JOIN users who ON who.id = u.user_id WHERE u.action_id = n.id), '[]') AS undos
         FROM actions_now n
         JOIN actions a USING (id)
         JOIN project_access p ON p.workspace_id = n.workspace_id AND p.project_id = n.project_id AND p.user_id = w.user_id
         JOIN users proposer ON proposer.id = n.user_id
         LEFT JOIN tokens token ON token.id = n.token_id
         LEFT JOIN users decider ON decider.id = n.decided_by
        WHERE n.id = w.id AND n.workspace_id = w.workspace_id
          AND (w.projects IS NULL OR n.project_id = ANY (w.projects))
       OFFSET 0) found
