"""Who is acting, and what they may see and do."""
