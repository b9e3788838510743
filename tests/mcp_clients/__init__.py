"""Clients of the MCP server that others wrote, and the bridge that we did: as processes of their own, over the wire."""
