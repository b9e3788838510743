"""Probes: what a prompt has to hold, kept as data and run through the whole of askbus against any model."""
