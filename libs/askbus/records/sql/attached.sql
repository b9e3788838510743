SELECT t.tgargs
  FROM pg_trigger t
 WHERE t.tgfoid = to_regprocedure('askbus.log_record()') AND t.tgparentid = 0
 ORDER BY t.tgargs
