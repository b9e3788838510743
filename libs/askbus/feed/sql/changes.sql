-- What became visible after the snapshot :after: live tail, catch-up, replay and relay alike.
-- Rows are paged by seq inside one upper snapshot: :upto is null at the first page, and what that returned as cursor at the next.
-- The cursor always comes back, also without rows.
WITH s AS MATERIALIZED (SELECT coalesce(:upto::text::pg_snapshot, pg_current_snapshot()) AS upto)
SELECT s.upto::text AS cursor,
       c.seq, c.xid::text::bigint AS xid, c.fact, c.entity, c.entity_id, c.status, c.workspace_id, c.project_id, c.user_id,
       c.assignee_id, c.parent_id, c.trace
  FROM s
  LEFT JOIN change_log c
    ON c.xid >= pg_snapshot_xmin(:after::text::pg_snapshot)
   AND NOT pg_visible_in_snapshot(c.xid, :after::text::pg_snapshot)
   AND pg_visible_in_snapshot(c.xid, s.upto)
   AND c.seq > :after_seq::bigint
   AND (:workspace_id::uuid IS NULL OR c.workspace_id = :workspace_id)
   AND (:facts::text[] IS NULL OR c.fact = ANY (:facts::text[]))
 ORDER BY c.seq
 LIMIT :page::int
