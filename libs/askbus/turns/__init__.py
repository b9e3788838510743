"""Turns: the work from one user message to the final answer."""
