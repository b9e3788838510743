"""How much is measured. The quick one is there to see that it works."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Plan:
    """Turns come in `blocks`, ours, the floor's and the peer's in turn, so that all see the same machine."""

    warm_up: int = 64
    blocks: int = 4
    at_once: tuple[tuple[int, int], ...] = ((1, 40), (16, 160), (64, 192))
    """How many turns at a time, and how many in a block."""
    steady: int = 16
    """Of these, where CPU is told by process."""
    resumed: int = 60
    idle: float = 4
    """Seconds without any work."""
    audiences: tuple[tuple[int, int], ...] = ((1, 200), (100, 200), (1000, 60))
    """Streams that all hear of each answer, and how many answers."""
    to_one: tuple[int, int] = (1000, 100)
    """Streams of which one hears, and how many answers."""
    reads: int = 300
    """Reads of each kind, and changes applied."""
    large: int = 5_000_000
    """Rows of the largest table of a large schema."""
    mcp_calls: int = 500
    """Calls of each kind over MCP and beside it."""
    trace_ratio: float = 0.05


WHOLE = Plan()
QUICK = Plan(
    warm_up=16,
    blocks=1,
    at_once=((1, 16), (16, 48)),
    resumed=10,
    idle=1,
    audiences=((1, 40), (100, 40)),
    to_one=(100, 40),
    reads=60,
    large=200_000,
    mcp_calls=100,
)
