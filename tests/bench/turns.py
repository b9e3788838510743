"""Turns sent and watched by clients, against askbus and against the floor alike."""

import asyncio
import re
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field

from tests.bench.meter import Meter, Reading
from tests.bench.wire import DELTA, END, Wire, connect, request_of

COMPLETED = b'"completed"'
WAITING = b'"state":"waiting"'
QUESTION = re.compile(rb'"questions":\["([0-9a-f-]{36})"')
PATIENCE = 60.0
"""Seconds for one turn."""


class BenchError(RuntimeError):
    """What was to be measured did not happen."""


@dataclass
class Turns:
    """What some turns took. `first_tokens` in seconds from sending the message to the first text at the client."""

    cpu: Reading
    first_tokens: list[float] = field(default_factory=list)

    @property
    def count(self) -> int:
        return len(self.first_tokens)

    def cpu_ms(self, names: tuple[str, ...]) -> float:
        """CPU milliseconds a turn of these processes."""
        return 1000 * self.cpu.of(names) / self.count

    @property
    def per_second(self) -> float:
        return self.count / self.cpu.at

    def __add__(self, other: "Turns") -> "Turns":
        return Turns(self.cpu + other.cpu, self.first_tokens + other.first_tokens)


async def run_turns(meter: Meter, port: int, requests: Sequence[bytes], at_once: int) -> Turns:
    """Sends each request and reads its stream to the end, `at_once` at a time. Raises BenchError for a turn that does not complete."""
    wires = [await connect(port) for _ in range(min(at_once, len(requests)))]
    left = deque(requests)
    first_tokens: list[float] = []

    async def client(wire: Wire) -> None:
        while left:
            first_tokens.append(await _turn(wire, left.popleft()))

    before = meter.read()
    await asyncio.gather(*(client(wire) for wire in wires))
    cpu = meter.read().since(before)
    for wire in wires:
        wire.close()
    return Turns(cpu, first_tokens)


async def _turn(wire: Wire, request: bytes) -> float:
    sent = wire.send(request)
    first, end = wire.when(DELTA), wire.when(END)
    async with asyncio.timeout(PATIENCE):
        await end
    if not first.done() or COMPLETED not in wire.received:
        raise BenchError(f"a turn did not complete: {bytes(wire.received[-2000:]).decode()}")
    return first.result() - sent


async def answer_and_resume(port: int, request: bytes, headers: dict[str, str]) -> float:
    """Starts a turn that asks its user, answers, and returns the seconds from sending the answer to the first text that follows."""
    watching, answering = await connect(port), await connect(port)
    async with asyncio.timeout(PATIENCE):
        watching.send(request)
        await watching.when(WAITING)
        found = QUESTION.search(watching.received)
        if found is None:
            raise BenchError("a turn waits and names no question")
        answer = request_of("POST", f"/v1/questions/{found[1].decode()}/answer", headers, {"answer": "blue"})
        sent = answering.send(answer)
        end = watching.when(END)
        resumed = await watching.when(DELTA)
        await end
    watching.close()
    answering.close()
    return resumed - sent
