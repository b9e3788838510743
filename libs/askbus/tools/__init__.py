"""Tools: what a model may call, and what became of each call."""
