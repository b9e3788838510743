-- Every workspace with its projects, and its members with what each of them sees.
SELECT w.id, w.name,
       coalesce((SELECT jsonb_agg(jsonb_build_object('id', p.id, 'name', p.name) ORDER BY p.name)
                   FROM projects p WHERE p.workspace_id = w.id), '[]') AS projects,
       coalesce((SELECT jsonb_agg(jsonb_build_object('id', u.id, 'email', u.email, 'name', u.name, 'role', m.role, 'demo', m.demo,
                                                     'projects', (SELECT coalesce(jsonb_agg(p.name ORDER BY p.name), '[]')
                                                                    FROM project_access a JOIN projects p ON p.id = a.project_id
                                                                   WHERE a.user_id = u.id AND a.workspace_id = w.id)) ORDER BY u.email)
                   FROM memberships m JOIN users u ON u.id = m.user_id WHERE m.workspace_id = w.id), '[]') AS members
  FROM workspaces w
 ORDER BY w.name
