"""The authorization server of the MCP door: OAuth 2.1, with apps that register themselves or show a metadata document."""
