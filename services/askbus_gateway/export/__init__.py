"""A conversation as a file to keep: all that its user sees of it, as Markdown, JSON or PDF. Never arguments, results or reasoning."""
