"""How far a worker is behind: what has rested for longer has no fact in the queue."""

import asyncio
import math
from time import monotonic

from askbus.bus.connection import Connection
from askbus.bus.envelope import Service
from askbus.bus.fact import Fact
from askbus.bus.worker import Worker
from askbus.testing.bus import ACK_WAIT, Bus, Seen, answered, handlers
from askbus.testing.waiting import until

BROKER = Service.QUESTION_BROKER


async def test_a_worker_is_as_far_behind_as_its_oldest_fact_that_nobody_was_given(bus: Bus, nc: Connection) -> None:
    """While its only slot is busy and facts queue up, all of them may be waiting; once a slot waits for facts, none is."""
    release = asyncio.Event()

    async def hold(_fact: Fact) -> None:
        await release.wait()

    seen = Seen(hold)
    worker = Worker(nc, BROKER, handlers(seen), slots=1, ack_wait=ACK_WAIT)
    assert math.isinf(worker.behind()), "nothing is known yet"
    published = monotonic()
    await bus.publish(nc, answered(1), answered(2), answered(3))
    stored = monotonic()
    await worker.start()
    await seen.count(1)
    behind, now = worker.behind(), monotonic()
    assert now - stored - 0.05 <= behind <= now - published + 0.05
    release.set()
    await seen.count(3)

    async def caught_up() -> bool:
        return worker.behind() == 0

    await until(caught_up)
    await worker.stop()
