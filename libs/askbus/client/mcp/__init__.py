"""`askbus mcp`: the MCP server of a deployment, over standard input and output, for agents on this machine.

It forwards each message to the gateway's `/mcp` and brings back what that answers, so access, caps and audit are the gateway's. Its own are
three things: `stdio.py` knows lines, `gateway.py` knows HTTP and tries again, `waits.py` makes one long wait of many short ones.
"""
