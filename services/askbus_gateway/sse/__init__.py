"""Streams to people: the hub that fans the change feed out, and who may see what."""
