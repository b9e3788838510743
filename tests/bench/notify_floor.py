"""The floor of an event: one LISTEN and a raw socket server that writes to everyone whatever is notified.

Run as `python -m tests.bench.notify_floor postgresql://…`.
"""

import asyncio
import sys
from typing import cast

import asyncpg
import uvloop
from tests.bench.program import until_parent_ends

CHANNEL = "bench_floor"
TOLD, QUIET = "GET /told HTTP/1.1\r\n\r\n", "GET /quiet HTTP/1.1\r\n\r\n"
"""The requests of clients that are told everything, and of those that are told nothing."""

HEAD = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n\r\nevent: state\ndata: {}\n\n"
FRAME = b'id: 1.1000:1000:\nevent: changes\ndata: [{"entity":"question","id":"%s","op":"upsert","status":"answered"}]\n\n' % (
    b"0" * 36
)


class Client(asyncio.Protocol):
    """One client, from its request on."""

    def __init__(self, clients: set[asyncio.WriteTransport]) -> None:
        self.clients = clients
        self.transport: asyncio.WriteTransport | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = cast("asyncio.WriteTransport", transport)  # uvloop's are not asyncio's by class

    def data_received(self, data: bytes) -> None:
        assert self.transport is not None
        self.transport.write(HEAD)
        if data == TOLD.encode():
            self.clients.add(self.transport)

    def connection_lost(self, exc: Exception | None) -> None:
        if self.transport is not None:
            self.clients.discard(self.transport)


async def serve(url: str) -> None:
    clients: set[asyncio.WriteTransport] = set()

    def notified(*_: object) -> None:
        for client in clients:
            client.write(FRAME)

    connection = await asyncpg.connect(url)
    await connection.add_listener(CHANNEL, notified)
    server = await asyncio.get_running_loop().create_server(lambda: Client(clients), "127.0.0.1", 0, backlog=2048)
    await until_parent_ends({"port": server.sockets[0].getsockname()[1]})


if __name__ == "__main__":
    uvloop.run(serve(sys.argv[1]))
