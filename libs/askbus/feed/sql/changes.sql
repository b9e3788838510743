-- What became visible after the snapshot :after: live tail, catch-up, replay and relay alike.
-- Rows are paged by seq inside one upper snapshot: :upto is null at the first page, and what that returned as cursor at the next.
-- The cursor always comes back, also without rows. `seq + 0` keeps the planner from an order of `seq`, by which it would walk through the
-- whole log.
WITH s AS MATERIALIZED (SELECT coalesce(:upto::text::pg_snapshot, pg_current_snapshot()) AS upto),
news AS MATERIALIZED (
    SELECT c.seq, c.xid, c.fact, c.entity, c.entity_id, c.status, c.workspace_id, c.project_id, c.user_id, c.assignee_id, c.parent_id,
           c.collection, c.key, c.trace
      FROM change_log c, s
     WHERE c.xid >= pg_snapshot_xmin(:after::text::pg_snapshot)
       AND NOT pg_visible_in_snapshot(c.xid, :after::text::pg_snapshot)
       AND pg_visible_in_snapshot(c.xid, s.upto)
       AND c.seq + 0 > :after_seq::bigint
       AND (:workspace_id::uuid IS NULL OR c.workspace_id = :workspace_id)
       AND (:facts::text[] IS NULL OR c.fact = ANY (:facts::text[]))
     ORDER BY c.seq + 0 LIMIT :page::int)
SELECT s.upto::text AS cursor,
       n.seq, n.xid::text::bigint AS xid, n.fact, n.entity, n.entity_id, n.status, n.workspace_id, n.project_id, n.user_id,
       n.assignee_id, n.parent_id, n.collection, n.key, n.trace
  FROM s
  LEFT JOIN news n ON true
 ORDER BY n.seq
