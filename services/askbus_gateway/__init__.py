"""The gateway: the edge. HTTP, SSE, the console, the bus's authorisation of agents; the only writer of who may act."""
