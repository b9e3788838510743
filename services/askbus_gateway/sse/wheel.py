"""Heartbeats and ages of many streams by one task: on a wheel, a few at a time, never all at once."""

import asyncio
import random
from typing import Protocol

SPOKES = 64


class Turned(Protocol):
    """What the wheel calls once in each turn."""

    closes_at: float

    def beat(self, now: float) -> None: ...


class Wheel:
    """`heartbeat`: seconds of one turn of the wheel. `age`: after about so many seconds a stream is ended, jittered so that clients
    do not all come back at once."""

    def __init__(self, heartbeat: float, age: float) -> None:
        self.heartbeat = heartbeat
        self.age = age
        self._spokes: list[set[Turned]] = [set() for _ in range(SPOKES)]
        self._where: dict[Turned, int] = {}

    def add(self, stream: Turned) -> None:
        """From now on it beats, the first time within one turn."""
        stream.closes_at = asyncio.get_running_loop().time() + self.age * random.uniform(0.9, 1.1)  # noqa: S311  # no secret
        spoke = self._where[stream] = random.randrange(SPOKES)  # noqa: S311
        self._spokes[spoke].add(stream)

    def discard(self, stream: Turned) -> None:
        """It is over."""
        spoke = self._where.pop(stream, None)
        if spoke is not None:
            self._spokes[spoke].discard(stream)

    async def run(self) -> None:
        """Turns until cancelled."""
        clock = asyncio.get_running_loop().time
        due = clock()
        while True:
            for spoke in self._spokes:
                now = clock()
                for stream in tuple(spoke):
                    stream.beat(now)
                due = max(due + self.heartbeat / SPOKES, now - self.heartbeat)
                await asyncio.sleep(max(due - clock(), 0))
