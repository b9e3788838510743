"""The built-in tools: one function for each entry of askbus.tools.catalogue."""
