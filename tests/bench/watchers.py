"""Many clients of event streams in one process, that note when each event arrives.

Run as `python -m tests.bench.watchers`. Requests are JSON, one a line: `{"open": count, "port": …, "request": …}` opens streams and
returns once each has its first state; `{"expect": count}` returns the moments (CLOCK_MONOTONIC, which all processes share) of the next
so many events; `{"close": true}` ends the streams.
"""

import asyncio
from time import monotonic
from typing import Any

import uvloop
from tests.bench.program import answer_parent

AT_ONCE = 32
"""How many streams are opened at once."""

STATE = b"event: state\n"
CHANGES = b"event: changes\n"


class Arrivals:
    """The moments of the events so far, all streams together."""

    def __init__(self) -> None:
        self.at: list[float] = []
        self.expected = 0
        self.complete = asyncio.Event()

    def note(self, count: int) -> None:
        self.at += [monotonic()] * count
        if len(self.at) >= self.expected:
            self.complete.set()

    async def take(self, count: int) -> list[float]:
        self.expected = count
        self.complete.clear()
        if len(self.at) < count:
            await self.complete.wait()
        taken, self.at = self.at, []
        return taken


class Watcher(asyncio.Protocol):
    """One stream. The events are small: each arrives whole."""

    def __init__(self, arrivals: Arrivals) -> None:
        self.arrivals = arrivals
        self.begun: asyncio.Future[None] = asyncio.get_running_loop().create_future()

    def data_received(self, data: bytes) -> None:
        if CHANGES in data:
            self.arrivals.note(data.count(CHANGES))
        if not self.begun.done() and STATE in data:
            self.begun.set_result(None)

    def connection_lost(self, exc: Exception | None) -> None:
        if not self.begun.done():
            self.begun.set_exception(ConnectionError("the stream ended before it began"))


async def watch() -> None:
    arrivals = Arrivals()
    transports: list[asyncio.WriteTransport] = []
    slots = asyncio.Semaphore(AT_ONCE)

    async def open_one(port: int, request: bytes) -> None:
        async with slots:
            transport, watcher = await asyncio.get_running_loop().create_connection(lambda: Watcher(arrivals), "127.0.0.1", port)
            transports.append(transport)
            transport.write(request)
            await watcher.begun

    async def answer(asked: Any) -> object:
        if "expect" in asked:
            return await arrivals.take(asked["expect"])
        if "open" in asked:
            await asyncio.gather(*(open_one(asked["port"], asked["request"].encode()) for _ in range(asked["open"])))
        else:
            for transport in transports:
                transport.close()
            transports.clear()
        arrivals.at.clear()
        return len(transports)

    await answer_parent("watching", answer)


if __name__ == "__main__":
    uvloop.run(watch())
