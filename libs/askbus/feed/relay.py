"""The relay: carries one owner's facts from the change log to JetStream, at least once.

Of several instances one holds the lease. It never listens to Postgres: the owner nudges it after each commit, and it polls every
second all the same, so a lost nudge costs a second and nothing else. A holder that was frozen and wakes up late publishes facts
again, which JetStream's dedupe drops, and then finds that the lease is another's.
"""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from uuid import UUID

import structlog

from askbus.bus import faults
from askbus.bus.envelope import Service
from askbus.db.outages import TROUBLE
from askbus.db.pool import Pool
from askbus.db.statements import Executor, Statement
from askbus.feed.model import Change
from askbus.feed.reader import changes_after
from askbus.runtime import crash

log = structlog.get_logger()

HOLD = Statement("askbus.feed", "sql/hold_relay.sql")
RELEASE = Statement("askbus.feed", "sql/release_relay.sql")

Publish = Callable[[Sequence[Change]], Awaitable[None]]


class Relay:
    """One owner's relay. `publish` returns once JetStream has acknowledged every fact, and raises where it has not.

    `lease` and `poll` are in seconds; the lease is renewed, and the cursor stored, each `poll`.
    """

    def __init__(
        self,
        owner: Service,
        facts: frozenset[str],
        pool: Pool,
        publish: Publish,
        *,
        holder: UUID,
        lease: float = 5,
        poll: float = 1,
    ) -> None:
        self.owner = owner
        self.facts = sorted(facts)
        self.pool = pool
        self.publish = publish
        self.holder = holder
        self.lease = lease
        self.poll = poll
        self.cursor: str | None = None
        self._nudged = asyncio.Event()

    @property
    def holds(self) -> bool:
        """Whether this instance published last; another may have taken over since."""
        return self.cursor is not None

    def nudge(self) -> None:
        """Something of the owner's was committed: look now rather than at the next poll."""
        self._nudged.set()

    async def run(self) -> None:
        """Relays until cancelled, over every fault of Postgres and NATS; then gives the lease back if it can."""
        try:
            while True:
                try:
                    await self._hold_and_relay()
                except Exception as error:  # noqa: BLE001  # whatever failed, the log still holds the facts: say so and try again
                    log.warning("relay.failed", owner=self.owner, reason=faults.reason(error))
                    self.cursor = None
                    await asyncio.sleep(self.poll)
        finally:
            await self._release()

    async def _hold_and_relay(self) -> None:
        clock = asyncio.get_running_loop().time
        row = await HOLD.row(self.pool, owner=self.owner, holder=self.holder, lease=self.lease, cursor=self.cursor)
        if row is None:
            self.cursor = None
            await asyncio.sleep(self.poll)  # nudges are for the holder
            return
        self.cursor = row["cursor"]
        renew_at = clock() + self.poll
        async with self.pool.acquire() as db:
            while (left := renew_at - clock()) > 0:
                self._nudged.clear()
                await self._relay_once(db)
                await self._rest(left)

    async def _relay_once(self, db: Executor) -> None:
        if self.cursor is None:
            return
        reached = self.cursor
        async for reached, changes in changes_after(db, self.cursor, facts=self.facts):  # noqa: B007  # the last one counts
            if changes:
                crash.point(f"relay.{self.owner}.before_publish")
                await self.publish(changes)
                crash.point(f"relay.{self.owner}.after_publish")
        self.cursor = reached

    async def _rest(self, seconds: float) -> None:
        try:
            async with asyncio.timeout(seconds):
                await self._nudged.wait()
        except TimeoutError:
            return

    async def _release(self) -> None:
        if self.cursor is None:
            return
        try:
            async with asyncio.timeout(2):
                await RELEASE.run(self.pool, owner=self.owner, holder=self.holder, cursor=self.cursor)
        except TROUBLE as error:
            log.info("relay.not_released", owner=self.owner, error=type(error).__name__)
