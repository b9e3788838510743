"""The feed over the bus: one gateway of all reads the log, and publishes what it finds to the others.

A message is a wake-up that carries its news along. Nobody relies on it: each says after which position it begins, so whoever missed one
reads the gap from the log, and so does whoever hears nothing. That two bridges publish for a moment does no harm.
"""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Protocol, Self

import asyncpg
import structlog
from pydantic import TypeAdapter

from askbus.db.outages import TROUBLE
from askbus.db.pool import SETTINGS, Pool
from askbus.db.statements import Executor
from askbus.feed.model import Change, Snapshot
from askbus.feed.reader import changes_after
from askbus.feed.tail import POSITION, Deliver, Tail

log = structlog.get_logger()

LOCK = 7236002602
"""Advisory lock of the gateway that is the bridge: a random number, ours alone."""


@dataclass(frozen=True)
class Page:
    """What became visible between two positions of the log, all of it."""

    before: str
    cursor: str
    changes: list[Change]


_PAGE = TypeAdapter(Page)


class Source(Protocol):
    """Where a hub has its changes from. `started` is set once nothing that commits from then on can be missed."""

    started: asyncio.Event
    cursor: Snapshot | None

    @property
    def listening(self) -> bool: ...

    async def run(self) -> None: ...


class Bridge:
    """Publishes the log's changes, as long as no other does. `poll` in seconds: so often it shows life, or tries to take over.

    `url` must lead to the primary, directly: the lock is the connection's.
    """

    def __init__(self, url: str, pool: Pool, publish: Callable[[bytes], Awaitable[None]], *, poll: float = 1) -> None:
        self.url = url
        self.pool = pool
        self.publish = publish
        self.poll = poll
        self._published = ""

    async def run(self) -> None:
        """Tries to be the bridge, and is it, until cancelled."""
        while True:
            try:
                await self._hold()
            except TROUBLE as error:
                log.warning("bridge.lost", error=type(error).__name__)
            await asyncio.sleep(self.poll)

    async def _hold(self) -> None:
        connection = await asyncpg.connect(
            self.url, server_settings={**SETTINGS, "application_name": "askbus gateway bridge"}, timeout=10
        )
        try:
            while not await connection.fetchval("SELECT pg_try_advisory_lock($1)", LOCK, timeout=5):  # noqa: ASYNC110  # elsewhere
                await asyncio.sleep(self.poll)
            log.info("bridge.held")
            tail = Tail(self.url, self.pool, self._deliver)
            following = asyncio.create_task(tail.run(), name="feed.bridge")
            try:
                await tail.started.wait()
                self._published = str(tail.cursor)
                while not following.done():
                    await connection.fetchval("SELECT 1", timeout=5)
                    await self._send(self._published, [])
                    await asyncio.sleep(self.poll)
            finally:
                following.cancel()
                await asyncio.gather(following, return_exceptions=True)
        finally:
            connection.terminate()

    async def _deliver(self, snapshot: Snapshot, changes: Sequence[Change]) -> None:
        await self._send(str(snapshot), list(changes))

    async def _send(self, cursor: str, changes: list[Change]) -> None:
        page = Page(self._published or cursor, cursor, changes)
        self._published = cursor
        await self.publish(_PAGE.dump_json(page))


class BusTail:
    """A gateway's tail where the bridge feeds it. `silence` in seconds: after so long without a word it reads the log itself."""

    def __init__(self, pool: Pool, connected: Callable[[], bool], *, silence: float = 2) -> None:
        self.pool = pool
        self.connected = connected
        self.silence = silence
        self.cursor: Snapshot | None = None
        self.started = asyncio.Event()
        self.deliver: Deliver
        self._pages: asyncio.Queue[Page] = asyncio.Queue()

    @property
    def listening(self) -> bool:
        """Whether news can come at once."""
        return self.connected()

    def delivering(self, deliver: Deliver) -> Self:
        """The same, telling `deliver`."""
        self.deliver = deliver
        return self

    def heard(self, data: bytes) -> None:
        """A message of the bridge."""
        self._pages.put_nowait(_PAGE.validate_json(data))

    async def run(self) -> None:
        """Follows until cancelled. Its subscription must stand."""
        while True:
            try:
                if self.cursor is None:
                    self.cursor = Snapshot.parse((await POSITION.one(self.pool))["cursor"])
                    self.started.set()
                await self._follow(self.cursor)
            except TROUBLE as error:
                log.warning("feed.read_failed", error=type(error).__name__)
                await asyncio.sleep(0.5)

    async def _follow(self, cursor: Snapshot) -> None:
        try:
            async with asyncio.timeout(self.silence):
                page = await self._pages.get()
        except TimeoutError:
            await self._read(self.pool, cursor)
            return
        reached = Snapshot.parse(page.cursor)
        if not cursor.covers(Snapshot.parse(page.before)):
            log.info("feed.gap_read")
            await self._read(self.pool, cursor)
        elif not cursor.covers(reached):
            self.cursor = reached
            news = [change for change in page.changes if not cursor.sees(change.xid)]
            if news:
                await self.deliver(reached, news)

    async def _read(self, db: Executor, cursor: Snapshot) -> None:
        changes: list[Change] = []
        reached = before = str(cursor)
        async for reached, page in changes_after(db, before):  # noqa: B007  # the last one counts
            changes += page
        self.cursor = Snapshot.parse(reached)
        if changes:
            await self.deliver(self.cursor, changes)
