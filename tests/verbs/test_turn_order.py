"""Turns of one thread come in the order in which their messages were appended, whatever their transactions' clocks say."""

from collections.abc import AsyncIterator
from datetime import datetime, timedelta
from uuid import UUID, uuid4

import pytest

from askbus.bus.envelope import Service
from askbus.db.ids import new_id
from askbus.db.pool import Pool, open_pool
from askbus.db.statements import Executor
from askbus.testing.people import Company
from askbus.testing.servers import TestDatabase
from askbus.threads.model import CreateThread
from askbus.threads.verbs import create
from askbus.turns import verbs
from askbus.turns.model import StartTurn, Turn


@pytest.fixture
async def loop(database: TestDatabase) -> AsyncIterator[Pool]:
    """Two connections as the agent-loop's own role."""
    async with open_pool(database.role_url(Service.AGENT_LOOP), size=2, name="agent-loop") as pool:
        yield pool


@pytest.fixture
async def thread_id(loop: Pool, company: Company) -> UUID:
    """A conversation of Mia's."""
    by = company["mia"].principal
    command = CreateThread(command_id=uuid4(), by=by, thread_id=new_id(), project_id=company.north)
    return (await create(loop, command, trace=None)).id


async def start(db: Executor, company: Company, thread_id: UUID, text: str) -> Turn:
    command = StartTurn(
        command_id=uuid4(),
        by=company["mia"].principal,
        turn_id=new_id(),
        thread_id=thread_id,
        client_message_id=text,
        text=text,
    )
    return (await verbs.start(db, command, title="A thread", trace=None)).turn


async def claim(db: Executor, turn: Turn, step: int = 1) -> bool:
    claimed = await verbs.claim(db, turn.id, from_step=step, step=step, holder=uuid4(), lease=-1)
    return claimed.claim is not None


@pytest.mark.requirement("C6", "C7")
async def test_a_message_that_was_begun_first_and_appended_second_is_the_second(
    loop: Pool, company: Company, thread_id: UUID
) -> None:
    """Its process stood still between its transaction's begin and the thread's lock: the turn at work goes on, then it is its turn."""
    async with loop.acquire() as slow, slow.transaction():
        await slow.execute("SELECT now()")
        async with loop.acquire() as quick, quick.transaction():
            first = await start(quick, company, thread_id, "first")
        assert await claim(loop, first)
        second = await start(slow, company, thread_id, "second")

    assert first.queued_at < second.queued_at
    assert not await claim(loop, second)
    assert await claim(loop, first), "the turn at work goes on"
    assert await verbs.fail(loop, first.id, "internal")
    assert await verbs.next_in_thread(loop, first.id) == second.id
    assert await claim(loop, second)


async def test_a_clock_that_was_set_back_puts_no_turn_before_another(
    loop: Pool, pool: Pool, company: Company, thread_id: UUID
) -> None:
    """The last turn of the thread seems to be of tomorrow: the next one still comes after it."""
    async with loop.acquire() as db, db.transaction():
        first = await start(db, company, thread_id, "first")
    tomorrow: datetime = first.queued_at + timedelta(days=1)
    await pool.execute("UPDATE turns SET queued_at = $2 WHERE id = $1", first.id, tomorrow)
    async with loop.acquire() as db, db.transaction():
        second = await start(db, company, thread_id, "second")

    assert second.queued_at > tomorrow
    assert await claim(loop, first)
    assert not await claim(loop, second)
