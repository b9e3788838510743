"""The HTTP doors. Each decodes, calls one thing, encodes."""
