"""Who gets what of what is another's: at every route, tool, command and stream, by tables (I6)."""
