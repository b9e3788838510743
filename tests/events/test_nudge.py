"""When writers nudge the readers of the log."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from uuid import UUID

import asyncpg
import pytest

from askbus.bus.envelope import Service
from askbus.db.ids import new_id
from askbus.db.pool import Pool
from askbus.feed.model import Change, Snapshot
from askbus.feed.switch import QUEUE
from askbus.feed.tail import Tail
from askbus.testing.people import Company
from askbus.testing.questions import open_question
from askbus.testing.servers import TestDatabase
from askbus.testing.waiting import until


@asynccontextmanager
async def no_commit_ends(admin: "asyncpg.Connection[asyncpg.Record]") -> AsyncIterator[None]:
    """On this server each waits for a standby that there is not, as it would for a slow disk: with its locks in its hand."""
    await admin.execute("ALTER SYSTEM SET synchronous_standby_names = 'nobody'")
    await admin.execute("SELECT pg_reload_conf()")
    try:
        yield
    finally:
        await admin.execute("ALTER SYSTEM RESET synchronous_standby_names")
        await admin.execute("SELECT pg_reload_conf()")


async def queues(db: "asyncpg.Connection[asyncpg.Record]") -> bool:
    """Whether more wait for NOTIFY's lock than the writers: the reader, to switch it off."""
    waiting = "SELECT count(*) > $1 FROM pg_locks WHERE locktype = 'object' AND objid = 0 AND NOT granted"
    return bool(await db.fetchval(waiting, QUEUE))


@pytest.mark.requirement("S1")
async def test_under_load_the_nudge_is_off_and_comes_back_when_it_is_calm(
    database: TestDatabase, pool: Pool, company: Company
) -> None:
    """Commits that wait for one another: writers notify no more, the tail polls and misses nothing; when it is calm they do again."""
    delivered: list[Change] = []
    mia = company["mia"].principal

    async def deliver(_snapshot: Snapshot, changes: Sequence[Change]) -> None:
        delivered.extend(change for change in changes if change.entity == "question")

    async def nudged(wanted: bool) -> bool:
        return bool(await pool.fetchval("SELECT nudged FROM feed") is wanted)

    heard: list[object] = []
    listener = await asyncpg.connect(database.url)
    await listener.add_listener("askbus", lambda *said: heard.append(said[-1]))
    tail = Tail(database.role_url(Service.GATEWAY), pool, deliver, window=0.2)
    running = asyncio.create_task(tail.run())
    await tail.started.wait()
    asked: list[UUID] = []

    async def ask() -> None:
        while await nudged(True):
            asked.append(new_id())
            await open_question(pool, mia, company.north, question_id=asked[-1])

    async with asyncio.TaskGroup() as writers, no_commit_ends(listener):
        for _ in range(QUEUE + 1):
            writers.create_task(ask())
        await until(lambda: queues(listener), within=20)
    await listener.execute("SELECT 1")
    before = len(heard)
    asked += [(await open_question(pool, mia, company.north)).id for _ in range(20)]
    await listener.execute("SELECT 1")
    assert len(heard) == before

    async def all_there() -> bool:
        return sorted(change.entity_id for change in delivered) == sorted(asked)

    await until(all_there, within=10)
    await until(lambda: nudged(True), within=20)
    now = asyncio.get_running_loop().time

    async def trusted() -> bool:
        return tail.cursor is not None and tail.switch.trusts(tail.cursor, now())

    await until(trusted, within=20)
    tail.poll = 600  # from its next rest on no poll comes instead of a nudge
    for _ in range(2):
        asked.append((await open_question(pool, mia, company.north)).id)
        await until(all_there, within=20)
    await listener.close()
    running.cancel()
    await asyncio.gather(running, return_exceptions=True)


@pytest.mark.requirement("S1")
async def test_whoever_writes_to_the_log_is_nudged_by_the_log_alone(pool: Pool) -> None:
    """A trigger that notified by itself would go on under load; the switch is asked in one place."""
    rows = await pool.fetch(
        "SELECT proname FROM pg_proc WHERE pronamespace = 'askbus'::regnamespace AND prosrc LIKE '%pg_notify(%'"
    )
    assert [row["proname"] for row in rows] == ["nudge"]
