"""Rate limits: buckets of permits in Postgres, shared by every process that takes from them."""
