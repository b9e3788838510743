"""A client of an SSE stream down at the socket: one that keeps what it got, resets, stalls, and comes back with its last id."""

import asyncio
import json
import re
import socket
import struct
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Any
from urllib.parse import urlencode, urlsplit

from askbus.models.sse import EventStreamParser
from askbus.testing.people import Agent, Person
from askbus.testing.streams import Event

_ID = re.compile(rb"^id: ?(.*)$", re.MULTILINE)


class StreamEnded(Exception):
    """The server ended the stream, or the connection."""


def credentials(who: Person | Agent | None) -> dict[str, str]:
    """The headers with which this person's browser, or this agent, says who it is."""
    if isinstance(who, Agent):
        return {"authorization": f"Bearer {who.token}"}
    return {} if who is None else {"cookie": f"askbus_session={who.cookie}"}


class EventClient:
    """One connection to a stream. `events` holds all that came; `last_id` is what one comes back with who has
    taken note of no more than `next` and `end` have given it."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader = reader
        self._writer = writer
        self._parser = EventStreamParser()
        self._unread: list[Event] = []
        self.status = 0
        self.headers: dict[str, str] = {}
        self.raw = b""
        self.events: list[Event] = []
        self.last_id: str | None = None

    async def begin(self) -> None:
        """Reads the response's head."""
        head = (await self._reader.readuntil(b"\r\n\r\n")).decode("latin-1")
        status, *lines = head.split("\r\n")
        self.status = int(status.split()[1])
        self.headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in lines if line)}

    async def next(self, *, within: float = 10) -> Event:
        """The next event. Raises StreamEnded, TimeoutError where none comes in time."""
        async with asyncio.timeout(within):
            while not self._unread:
                await self.read()
            event = self._unread.pop(0)
            self.last_id = event.id or self.last_id
            return event

    async def until(self, name: str, *, within: float = 10) -> Event:
        """The next event of this name; others before it are passed over."""
        async with asyncio.timeout(within):
            while (event := await self.next(within=within)).name != name:
                pass
            return event

    async def changes(self, *, within: float = 10) -> list[dict[str, Any]]:
        """The next batch of changes; the next event must be one."""
        event = await self.next(within=within)
        assert event.name == "changes", event
        return list(event.data)

    async def read(self) -> bytes:
        """The next chunk as it came, comments and all. Raises StreamEnded."""
        try:
            size = int(await self._reader.readline() or b"0", 16)
            chunk = (await self._reader.readexactly(size + 2))[:-2]
        except (ConnectionError, asyncio.IncompleteReadError):
            raise StreamEnded from None
        if not chunk:
            raise StreamEnded
        self.raw += chunk
        for found in self._parser.feed(chunk):
            event = Event(found.event, found.last_event_id or None, json.loads(found.data))
            self.events.append(event)
            self._unread.append(event)
        ids = _ID.findall(chunk)
        if ids and not self._unread:
            self.last_id = ids[-1].decode()
        return chunk

    async def end(self, *, within: float = 10) -> list[Event]:
        """What else comes until the server ends the stream. Raises TimeoutError where it does not."""
        async with asyncio.timeout(within):
            try:
                while True:
                    await self.read()
            except StreamEnded:
                unread, self._unread = self._unread, []
                for event in unread:
                    self.last_id = event.id or self.last_id
                return unread

    def reset(self) -> None:
        """Goes away without a word: the connection is reset (SO_LINGER 0), unless it is over already."""
        if self._writer.is_closing():
            return
        sock = self._writer.get_extra_info("socket")
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self._writer.transport.abort()

    async def close(self) -> None:
        self._writer.close()
        try:
            await self._writer.wait_closed()
        except ConnectionError:
            return


async def connect(
    url: str,
    who: Person | Agent | None,
    *,
    after: str | None = None,
    headers: Mapping[str, str] | None = None,
    receive_buffer: int | None = None,
    query: Mapping[str, str] | None = None,
    path: str = "/v1/events",
) -> EventClient:
    """A connection that has asked for `path`; `begin` reads the answer. `after` is sent as Last-Event-ID.

    With `receive_buffer` little is held here for a client that does not read.
    """
    address = urlsplit(url)
    sock = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    sock.setblocking(False)
    if receive_buffer is not None:
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive_buffer)
    try:
        await asyncio.get_running_loop().sock_connect(sock, (address.hostname, address.port))
    except BaseException:
        sock.close()
        raise
    reader, writer = await asyncio.open_connection(sock=sock, limit=2**22 if receive_buffer is None else receive_buffer)
    sent = {"host": "localhost", **credentials(who), **(headers or {})}
    if after is not None:
        sent["last-event-id"] = after
    lines = "".join(f"{name}: {value}\r\n" for name, value in sent.items())
    target = path + (f"?{urlencode(query)}" if query else "")
    writer.write(f"GET {target} HTTP/1.1\r\n{lines}\r\n".encode())
    await writer.drain()
    return EventClient(reader, writer)


@asynccontextmanager
async def following(
    url: str,
    who: Person | Agent | None,
    *,
    after: str | None = None,
    headers: Mapping[str, str] | None = None,
    query: Mapping[str, str] | None = None,
) -> AsyncIterator[EventClient]:
    """A client that follows /v1/events, its response begun."""
    client = await connect(url, who, after=after, headers=headers, query=query)
    try:
        await client.begin()
        yield client
    finally:
        await client.close()
