-- Whether the workspace registered the front end whose key this is.
SELECT id FROM frontends WHERE hash = :hash AND workspace_id = :workspace_id
