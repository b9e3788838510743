"""askbus as an MCP server: the endpoint `/mcp` and its tools."""
