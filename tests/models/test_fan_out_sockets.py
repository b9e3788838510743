"""What the hub writes straight to sockets: whole and in order where a socket takes only part of it, and never to another client's."""

import asyncio
import contextlib
import json
import socket
from collections.abc import Callable
from typing import cast
from uuid import UUID, uuid4

import pytest
import uvloop
from tests.models.idle_hub import idle_hub, session, snapshot

from askbus.feed.model import Change
from askbus.models.sse import EventStreamParser
from askbus_gateway.sse.rules import RULES, Viewer
from askbus_gateway.sse.stream import Stream

WORKSPACE = uuid4()
VIEWERS = [Viewer(uuid4(), WORKSPACE, frozenset({uuid4()}), follows=frozenset(RULES)) for _ in range(2)]
CHANGES, PAUSE = 240, 15
"""Changes in all, and after how many one that pauses reads again: what waits for it until then is more than its socket takes."""
SIZE = 4000


class Desk:
    """A hub, a listening socket, and the clients that came to it."""

    def __init__(self) -> None:
        self.hub = idle_hub()
        self.reached = 0
        self.next_viewer = 0
        self.arrived = asyncio.Event()

    def serve(self) -> asyncio.Protocol:
        principal = session(WORKSPACE)
        stream = Served(principal, None, self.hub)
        stream.viewer, stream.desk = VIEWERS[self.next_viewer], self
        return stream

    async def come(self, port: int, viewer: int) -> "Client":
        self.next_viewer = viewer
        self.arrived.clear()
        sock = socket.socket()
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        sock.setblocking(False)
        await asyncio.get_running_loop().sock_connect(sock, ("127.0.0.1", port))
        await self.arrived.wait()
        return Client(sock, viewer, self.reached)

    async def commit(self) -> None:
        self.reached += 1
        (project,) = VIEWERS[self.reached % 2].projects
        key = {"id": "x" * SIZE}
        change = Change(
            self.reached, self.reached, "record.updated", "record", UUID(int=self.reached), "updated", WORKSPACE, project,
            collection="orders", key=key,
        )  # fmt: skip
        await self.hub.deliver(snapshot(self.reached), [change])


class Served(Stream):
    """A stream from the moment its client is there."""

    desk: Desk

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = cast("asyncio.Transport", transport)
        self.transport.set_write_buffer_limits(0)
        self.transport.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 4096)
        self.desk.hub.set_apart(self)
        self.begin("e", snapshot(self.desk.reached))
        self.desk.arrived.set()


class Client:
    def __init__(self, sock: socket.socket, viewer: int, since: int) -> None:
        self.sock, self.viewer, self.since = sock, viewer, since
        self.received = b""

    async def read(self, reached: int) -> None:
        """Until it has what it is owed; an event ends its chunk."""
        while self.received.count(b"\n\n\r\n") < len(self.owed(reached)):
            data = await asyncio.get_running_loop().sock_recv(self.sock, 1 << 16)
            assert data, "it was cut off"
            self.received += data

    def gulp(self) -> None:
        """Makes room in its socket, and nobody has noticed by the next change."""
        with contextlib.suppress(BlockingIOError):
            self.received += self.sock.recv(1 << 16)

    def told(self) -> list[int]:
        rest, body = self.received, b""
        while rest:
            size, _, rest = rest.partition(b"\r\n")
            body, rest = body + rest[: int(size, 16)], rest[int(size, 16) + 2 :]
        return [UUID(change["id"]).int for event in EventStreamParser().feed(body) for change in json.loads(event.data)]

    def owed(self, reached: int) -> list[int]:
        return [xid for xid in range(self.since + 1, reached + 1) if xid % 2 == self.viewer]


@pytest.mark.requirement("S2", "S4", "S6")
@pytest.mark.parametrize("new_loop", [uvloop.new_event_loop, asyncio.new_event_loop])
def test_what_a_socket_takes_in_parts_arrives_whole_and_a_descriptor_used_anew_is_told_nothing_foreign(
    new_loop: Callable[[], asyncio.AbstractEventLoop],
) -> None:
    """One reads at once, one only now and then, one never; others go, and somebody with other rights gets their descriptor."""

    async def run() -> None:
        desk = Desk()
        server = await asyncio.get_running_loop().create_server(desk.serve, "127.0.0.1", 0)
        port = server.sockets[0].getsockname()[1]
        quick, slow, deaf, fleeting = [await desk.come(port, number % 2) for number in range(4)]
        gone = []
        for number in range(1, CHANGES + 1):
            if number % 4 == 0:
                slow.gulp()
            await desk.commit()
            await quick.read(number)
            if number % PAUSE == 0:
                await slow.read(number - PAUSE // 2)
            if number % 10 == 0:
                await fleeting.read(number)
                gone.append((fleeting, desk.reached))
                fleeting.sock.close()
                fleeting = await desk.come(port, number // 10 % 2)
        await slow.read(desk.reached)
        for client in (quick, slow):
            assert client.told() == client.owed(desk.reached)
        for client, reached in gone:
            assert client.told() == client.owed(reached)
        assert len(desk.hub) == 3, "the deaf one was cut off"
        for client in (quick, slow, deaf, fleeting):
            client.sock.close()
        server.close()
        await desk.hub.close()

    with asyncio.Runner(loop_factory=new_loop) as runner:
        runner.run(asyncio.wait_for(run(), 30))
