"""The MCP endpoint, by hand and by the official client."""
