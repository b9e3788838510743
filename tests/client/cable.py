"""A TCP connection that a test may cut, as a network does, with both ends alive."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from urllib.parse import urlsplit


class Cable:
    """Leads from `port` to a server. While it is cut, nobody gets through and nobody is told."""

    def __init__(self, host: str, to: int) -> None:
        self.port = 0
        self._to = (host, to)
        self._cut = False
        self._open: set[asyncio.StreamWriter] = set()

    async def connected(self, near: asyncio.StreamReader, near_end: asyncio.StreamWriter) -> None:
        if self._cut:
            near_end.close()
            return
        try:
            far, far_end = await asyncio.open_connection(*self._to)
        except OSError:
            near_end.close()
            return
        self._open |= {near_end, far_end}
        await asyncio.gather(_carry(near, far_end), _carry(far, near_end), return_exceptions=True)
        self._open -= {near_end, far_end}
        for end in (near_end, far_end):
            end.close()

    def cut(self) -> None:
        self._cut = True
        for end in self._open:
            end.transport.abort()

    def mend(self) -> None:
        self._cut = False


async def _carry(source: asyncio.StreamReader, sink: asyncio.StreamWriter) -> None:
    try:
        while data := await source.read(65_536):
            sink.write(data)
            await sink.drain()
    finally:
        sink.close()


@asynccontextmanager
async def cable_to(url: str) -> AsyncIterator[Cable]:
    """A cable to the server at `url`, from a port of its own."""
    parts = urlsplit(url)
    cable = Cable(parts.hostname or "127.0.0.1", parts.port or 0)
    server = await asyncio.start_server(cable.connected, "127.0.0.1", 0)
    cable.port = server.sockets[0].getsockname()[1]
    try:
        yield cable
    finally:
        cable.cut()
        server.close()
        await server.wait_closed()
