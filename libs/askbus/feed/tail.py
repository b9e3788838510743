"""The live tail of a gateway: one LISTEN connection, one reading connection, one cursor for all its clients.

NOTIFY is a wake-up, never a carrier: it is empty, and a poll each second runs all the same. Under load the nudge is switched off, and
the tail polls every few milliseconds. A dropped connection is made again with back-off, and the gap is read from the log.
"""

import asyncio
import random
from collections.abc import Awaitable, Callable, Sequence

import asyncpg
import structlog

from askbus.db.outages import TROUBLE
from askbus.db.pool import SETTINGS, Pool
from askbus.db.statements import Executor, Statement
from askbus.feed.model import Change, Snapshot
from askbus.feed.reader import changes_after
from askbus.feed.switch import Switch

log = structlog.get_logger()

POSITION = Statement("askbus.feed", "sql/position.sql")
FLAG = Statement("askbus.feed", "sql/flag.sql")
HELD_UP = Statement("askbus.feed", "sql/held_up.sql")
SET_FLAG = Statement("askbus.feed", "sql/set_flag.sql")
CHANNEL = "askbus"
FIRST_DELAY, LONGEST_DELAY = 0.1, 5.0
"""Seconds before a lost LISTEN connection is made again."""
EAGER = 0.003
"""Seconds between two polls while nothing nudges: under load, and after that until every writer knows that it is to nudge again."""
Deliver = Callable[[Snapshot, Sequence[Change]], Awaitable[None]]


class Tail:
    """Follows the log from the moment it starts. `deliver` gets each page of changes and the snapshot that the reader then has.

    `url` must lead to the primary, directly: LISTEN does not work through a transaction pooler. `check`, `poll` and `window`, over which
    commits are counted, in seconds.
    """

    def __init__(self, url: str, pool: Pool, deliver: Deliver, *, poll: float = 1, check: float = 5, window: float = 1) -> None:
        self.url = url
        self.pool = pool
        self.deliver = deliver
        self.poll = poll
        self.check = check
        self.switch = Switch(window=window)
        self.cursor: Snapshot | None = None
        self.listening = False
        self.started = asyncio.Event()
        """Set once LISTEN is active and the first position is read: before that no client is told anything (S3)."""
        self._listened = asyncio.Event()
        self._nudged = asyncio.Event()

    async def run(self) -> None:
        """Follows until cancelled."""
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(self._listen(), name="feed.listen")
            tasks.create_task(self._follow(), name="feed.follow")

    async def _listen(self) -> None:
        delay = FIRST_DELAY
        while True:
            reason = "closed"
            try:
                await self._listen_once()
            except TROUBLE as error:
                reason = type(error).__name__
            delay = FIRST_DELAY if self.listening else min(delay * 2, LONGEST_DELAY)
            self.listening = False
            log.warning("feed.listen_lost", reason=reason)
            await asyncio.sleep(delay * random.uniform(0.5, 1))  # noqa: S311  # jitter, no secret

    async def _listen_once(self) -> None:
        connection = await asyncpg.connect(
            self.url, server_settings={**SETTINGS, "application_name": "askbus gateway listen"}, timeout=10
        )
        try:
            gone = asyncio.Event()
            connection.add_termination_listener(lambda _connection: gone.set())
            await connection.add_listener(CHANNEL, lambda *_: self._nudged.set())
            self.listening = True
            self._listened.set()
            self._nudged.set()
            while not gone.is_set():
                # A sign of life; and asking is what heals a queue of notifications that has filled up.
                await connection.fetchval("SELECT pg_notification_queue_usage()", timeout=self.check)
                try:
                    async with asyncio.timeout(self.check):
                        await gone.wait()
                except TimeoutError:
                    continue
        finally:
            connection.terminate()

    async def _follow(self) -> None:
        while True:
            try:
                async with self.pool.acquire() as db:
                    while True:
                        woken = self._nudged.is_set()
                        await self._read(db)
                        await self._mind(db, woken=woken)
                        await self._rest()
            except TROUBLE as error:
                log.warning("feed.read_failed", error=type(error).__name__)
                await asyncio.sleep(min(self.poll, 0.5))

    async def _mind(self, db: Executor, *, woken: bool) -> None:
        """Looks after the switch, once the news is delivered: now and then, and at its flag with each nudge, since switching sends one."""
        now = asyncio.get_running_loop().time()
        due = self.switch.due(now)
        if not due and not woken:
            return
        row = await FLAG.one(db)
        self.switch.saw(row["nudged"], row["known_from"], now)
        if due and row["nudged"]:
            self.switch.queue((await HELD_UP.one(db))["commits"])
        wanted = self.switch.wants()
        if wanted is not None and wanted != row["nudged"] and await SET_FLAG.rows(db, nudged=wanted):
            log.info("feed.nudge_switched", on=wanted)
            row = await FLAG.one(db)
            self.switch.saw(row["nudged"], row["known_from"], now)

    async def _rest(self) -> None:
        now = asyncio.get_running_loop().time()
        nudged = self.cursor is not None and self.switch.trusts(self.cursor, now)
        try:
            async with asyncio.timeout(self.poll if nudged or not self.listening else EAGER):
                await self._nudged.wait()
        except TimeoutError:
            return

    async def _read(self, db: Executor) -> None:
        if self.cursor is None:
            position = await POSITION.one(db)
            self.cursor = Snapshot.parse(position["cursor"])
            await self._listened.wait()
            self.started.set()
        self._nudged.clear()
        changes: list[Change] = []
        before = reached = str(self.cursor)
        async for reached, page in changes_after(db, before):  # noqa: B007  # the last one counts
            changes += page
        snapshot = Snapshot.parse(reached)
        self.cursor = snapshot
        self.switch.count(len({change.xid for change in changes}), asyncio.get_running_loop().time())
        if changes:
            await self.deliver(snapshot, changes)
