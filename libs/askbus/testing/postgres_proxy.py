"""A proxy before Postgres that hears every statement, and can strike just before one reaches the server or just after it was carried out.

It reads the wire (Postgres manual, chapter 54), so it needs nothing of the process that speaks: every statement counts, BEGIN and
COMMIT too, on whichever connection and by whichever library it is sent.
"""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from enum import StrEnum
from urllib.parse import urlsplit, urlunsplit

ENCRYPTION = frozenset({80877103, 80877104})
"""Requests for TLS and for GSSAPI; the answer is no."""
GATHERED = frozenset(b"PBDEC")
"""Messages that the server answers only once a Sync or Flush follows."""


class Moment(StrEnum):
    BEFORE = "before"
    """The server has not got the statement."""
    AFTER = "after"
    """The server has carried it out, and its answer has not arrived."""


@dataclass(frozen=True)
class Heard:
    """The `nth` time (from 1) that sessions with this application_name sent this statement since the proxy began to count."""

    session: str
    sql: str
    nth: int


@dataclass
class _Trap:
    at: Heard
    moment: Moment
    strike: Callable[[], None]


@dataclass
class _Link:
    """One client's connection."""

    session: str
    from_client: asyncio.StreamReader
    to_client: asyncio.StreamWriter
    from_server: asyncio.StreamReader
    to_server: asyncio.StreamWriter
    statements: dict[bytes, str] = field(default_factory=dict)
    struck: Callable[[], None] | None = None
    """To be called when the server is done with what it was sent; until then its answers are held back."""


class PostgresProxy:
    """`url` has the address of the server exchanged for the proxy's own."""

    def __init__(self, server_url: str) -> None:
        address = urlsplit(server_url)
        self._host, self._port = address.hostname or "127.0.0.1", address.port or 5432
        self.port = 0
        self.heard: list[Heard] = []
        self._counted: Counter[tuple[str, str]] = Counter()
        self._trap: _Trap | None = None
        self._links: set[asyncio.Task[None]] = set()
        self._closed = False

    def url(self, server_url: str) -> str:
        """The same database and user, through the proxy."""
        address = urlsplit(server_url)
        credentials, at, _ = address.netloc.rpartition("@")
        return urlunsplit(address._replace(netloc=f"{credentials}{at}127.0.0.1:{self.port}"))

    def listen(self) -> None:
        """Forgets what was heard and any trap, and counts from here."""
        self.heard, self._counted, self._trap = [], Counter(), None

    def strike_at(self, at: Heard, moment: Moment, strike: Callable[[], None]) -> None:
        """Counts from here, and calls `strike` once, at this statement; the connection that it came on is then gone."""
        self.listen()
        self._trap = _Trap(at, moment, strike)

    def disarm(self) -> None:
        """No strike any more."""
        self._trap = None

    @asynccontextmanager
    async def serving(self) -> AsyncIterator["PostgresProxy"]:
        """Accepts connections until the block ends; then cuts them."""
        server = await asyncio.start_server(self._accept, "127.0.0.1", 0)
        self.port = server.sockets[0].getsockname()[1]
        try:
            yield self
        finally:
            server.close()
            self._closed = True
            links = list(self._links)
            self.cut()
            await asyncio.gather(*links, return_exceptions=True)

    def cut(self) -> None:
        """Every connection breaks now."""
        for link in self._links:
            link.cancel()

    async def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._links.add(task)
        try:
            if not self._closed:  # who came while it closed is turned away
                await self._link(reader, writer)
        except (OSError, asyncio.IncompleteReadError, asyncio.CancelledError):
            return  # one side is gone, or it was cut: so is the other side, and that is all there is to it
        finally:
            self._links.discard(task)
            writer.transport.abort()

    async def _link(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        startup = await _startup(reader, writer)
        from_server, to_server = await asyncio.open_connection(self._host, self._port)
        to_server.write(startup)
        words = startup[8:].split(b"\0")
        named = dict(zip(words[::2], words[1::2], strict=False))
        link = _Link(named.get(b"application_name", b"").decode(), reader, writer, from_server, to_server)
        both = [asyncio.create_task(self._from_client(link)), asyncio.create_task(self._from_server(link))]
        try:
            await asyncio.wait(both, return_when=asyncio.FIRST_COMPLETED)
        finally:
            to_server.transport.abort()
            for one in both:
                one.cancel()
            await asyncio.gather(*both, return_exceptions=True)

    async def _from_client(self, link: _Link) -> None:
        gathered, sql = b"", ""
        while True:
            kind, message = await _message(link.from_client)
            gathered += message
            sql = _statement_of(kind, message[5:], link) or sql
            if kind in GATHERED:
                continue
            trap = self._hear(link.session, sql) if sql else None
            if trap is not None and trap.moment is Moment.BEFORE:
                trap.strike()
                return
            link.struck = trap.strike if trap is not None else None
            link.to_server.write(gathered)
            await link.to_server.drain()
            gathered, sql = b"", ""

    async def _from_server(self, link: _Link) -> None:
        while True:
            kind, message = await _message(link.from_server)
            if link.struck is None:
                link.to_client.write(message)
            elif kind == ord("Z"):
                link.struck()
                return

    def _hear(self, session: str, sql: str) -> _Trap | None:
        self._counted[session, sql] += 1
        heard = Heard(session, sql, self._counted[session, sql])
        self.heard.append(heard)
        trap = self._trap
        if trap is None or trap.at != heard:
            return None
        self._trap = None
        return trap


async def _startup(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bytes:
    while True:
        head = await reader.readexactly(8)
        rest = await reader.readexactly(int.from_bytes(head[:4]) - 8)
        if int.from_bytes(head[4:]) not in ENCRYPTION:
            return head + rest
        writer.write(b"N")


async def _message(reader: asyncio.StreamReader) -> tuple[int, bytes]:
    head = await reader.readexactly(5)
    return head[0], head + await reader.readexactly(int.from_bytes(head[1:]) - 4)


def _statement_of(kind: int, body: bytes, link: _Link) -> str:
    """The statement that this message has carried out: a simple query, or a bind of what was parsed before."""
    if kind == ord("Q"):
        return body[:-1].decode()
    if kind == ord("P"):
        name, sql, _ = body.split(b"\0", 2)
        link.statements[name] = sql.decode()
    if kind == ord("B"):
        return link.statements[body.split(b"\0", 2)[1]]
    return ""
