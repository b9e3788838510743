"""How much is measured. The whole takes two to three minutes on two cores; the quick one, to see that it works, about one."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Plan:
    """Turns at one and at sixteen at a time come in `blocks`, ours and the floor's in turn, so that both see the same machine."""

    warm_up: int = 64
    blocks: int = 4
    one_by_one: int = 40
    together: int = 160
    at_once: int = 16
    resumed: int = 60
    idle: float = 4
    """Seconds without any work."""
    audiences: tuple[tuple[int, int], ...] = ((1, 200), (100, 200), (1000, 60))
    """Streams that all hear of each answer, and how many answers."""
    to_one: tuple[int, int] = (1000, 100)
    """Streams of which one hears, and how many answers."""
    trace_ratio: float = 0.05


WHOLE = Plan()
QUICK = Plan(
    warm_up=16, blocks=1, one_by_one=16, together=48, resumed=10, idle=1, audiences=((1, 40), (100, 40)), to_one=(100, 40)
)
