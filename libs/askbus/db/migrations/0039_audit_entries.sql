-- The audit log as it is read and exported: one place that knows how ids get their names.

CREATE VIEW audit_entries AS
    SELECT l.id, l.at, l.event, l.entity, l.entity_id, l.part_id, l.workspace_id, l.project_id, p.name AS project_name, l.user_id,
           u.name AS user_name, l.via, l.via_id, t.name AS token_name,
           CASE l.entity WHEN 'user' THEN (SELECT e.name FROM users e WHERE e.id = l.entity_id)
                         WHEN 'project' THEN (SELECT e.name FROM projects e WHERE e.id = l.entity_id AND e.workspace_id = l.workspace_id)
                         WHEN 'token' THEN (SELECT e.name FROM tokens e WHERE e.id = l.entity_id AND e.workspace_id = l.workspace_id)
                         WHEN 'invitation' THEN (SELECT e.email FROM invitations e
                                                  WHERE e.id = l.entity_id AND e.workspace_id = l.workspace_id)
                         WHEN 'workspace' THEN (SELECT e.name FROM workspaces e WHERE e.id = l.entity_id AND e.id = l.workspace_id)
           END AS entity_name
      FROM audit_log l
      LEFT JOIN users u ON u.id = l.user_id
      LEFT JOIN projects p ON p.id = l.project_id AND p.workspace_id = l.workspace_id
      LEFT JOIN tokens t ON t.id = l.via_id AND l.via = 'token' AND t.workspace_id = l.workspace_id;
COMMENT ON VIEW audit_entries IS 'The audit log with the names of now, of what every admin may see: people, projects, tokens and invitations.';
