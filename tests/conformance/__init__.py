"""The official conformance suite of MCP, against the door itself: `make conformance`."""
