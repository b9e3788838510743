"""The program of the crowd (crowd.c): its clients, or the barest server for them."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass

PATIENCE = 900.0
"""Seconds in which all clients must be there."""


@dataclass
class Crowd:
    """One process of crowd.c."""

    process: asyncio.subprocess.Process
    port: int = 0

    async def say(self, *words: object, data: bytes = b"") -> str:
        assert self.process.stdin is not None
        self.process.stdin.write(" ".join(map(str, words)).encode() + b"\n" + data)
        return await self.heard()

    async def heard(self) -> str:
        assert self.process.stdout is not None
        async with asyncio.timeout(PATIENCE):
            return (await self.process.stdout.readline()).decode()

    async def open(self, count: int, port: int, request: bytes, *, ready: str, event: str) -> None:
        """So many connections, each of which has sent the request and been told `ready`."""
        await self.say("open", count, port, len(request), data=f"{ready}\n{event}\n".encode() + request)

    async def expect(self, count: int, *, every: float = 0) -> list[float]:
        """The moments of the next so many events, in seconds. `every`: look only so often, in seconds; 0 for at once."""
        return [int(moment) / 1e9 for moment in (await self.say("expect", count, round(every * 1e6), 0)).split()]

    async def named(self, count: int) -> list[tuple[str, float]]:
        """The next so many events, each by the 36 characters after its mark, and its moment in seconds."""
        told = (await self.say("expect", count, 0, 1)).split()
        return [(name, int(moment) / 1e9) for moment, _, name in (each.partition(":") for each in told)]


@asynccontextmanager
async def crowd(binary: str, role: str) -> AsyncIterator[Crowd]:
    process = await asyncio.create_subprocess_exec(
        binary, role, stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE, limit=1 << 24
    )
    running = Crowd(process)
    try:
        if role == "serve":
            running.port = int(await running.heard())
        yield running
    finally:
        assert process.stdin is not None
        process.stdin.close()
        await process.wait()
