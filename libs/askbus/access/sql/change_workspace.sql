-- Changes what a workspace chose; what is not in `:says` stays. No row: who asks may not.
WITH acting AS MATERIALIZED (
    SELECT workspace_id FROM memberships
     WHERE workspace_id = :workspace_id AND user_id = :by_user_id AND role IN ('owner', 'admin') FOR SHARE),
changed AS (
    UPDATE workspaces w
       SET name = CASE WHEN 'name' = ANY (:says::text[]) THEN :name ELSE name END,
           time_zone = CASE WHEN 'time_zone' = ANY (:says::text[]) THEN :time_zone ELSE time_zone END,
           demo_chat = CASE WHEN 'demo_chat' = ANY (:says::text[]) THEN :demo_chat ELSE demo_chat END,
           instructions = CASE WHEN 'instructions' = ANY (:says::text[]) THEN :instructions ELSE instructions END,
           model = CASE WHEN 'model' = ANY (:says::text[]) THEN :model ELSE model END,
           number_check = CASE WHEN 'number_check' = ANY (:says::text[]) THEN :number_check ELSE number_check END
      FROM acting a
     WHERE w.id = a.workspace_id
    RETURNING w.id, w.name, w.time_zone, w.demo_chat, w.instructions, w.model, w.number_check),
audited AS (
    INSERT INTO audit_log (workspace_id, user_id, via, via_id, event, entity, entity_id)
    SELECT id, :by_user_id, 'session', :via_id, 'workspace.changed', 'workspace', id FROM changed)
SELECT * FROM changed
