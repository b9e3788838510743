"""The sweep: turns that wait for a machine and do not move, because a wake-up was lost or its worker died, are woken again."""

import math
from collections.abc import Awaitable, Callable, Sequence

import structlog

from askbus.bus.fact import Fact
from askbus.db.pool import Pool
from askbus.turns import verbs

log = structlog.get_logger()


class Resting:
    """`rested` is in seconds. `repeat` publishes facts under new ids; `behind` is `Worker.behind`."""

    def __init__(
        self,
        pool: Pool,
        *,
        rested: float,
        turn_ms: int,
        repeat: Callable[[Sequence[Fact]], Awaitable[None]],
        behind: Callable[[], float],
    ) -> None:
        self.pool = pool
        self.rested = rested
        self.turn_ms = turn_ms
        self.repeat = repeat
        self.behind = behind

    async def wake(self) -> None:
        """Wakes each by a message with a new id, wherever a worker is free. While facts queue up, turns whose fact may still be among
        them are left alone: what is late is not lost.
        """
        rested = self.rested + self.behind()
        if math.isinf(rested):
            return
        rows = await verbs.resting(self.pool, stuck=rested, turn_ms=self.turn_ms)
        facts = [
            Fact(
                fact="turn.queued",
                entity="turn",
                entity_id=row["id"],
                status=row["state"],
                workspace_id=row["workspace_id"],
                project_id=row["project_id"],
                user_id=row["user_id"],
                traceparent=row["trace"],
            )
            for row in rows
        ]
        if facts:
            log.info("turns.woken", count=len(facts))
            await self.repeat(facts)
