"""Threads: conversations of one user, with what was said in them."""
