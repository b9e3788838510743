"""What is kept of threads, and for how long: temporary ones, those past their time, and the oldest exchanges of a very long one."""

import asyncio
from datetime import timedelta
from uuid import UUID

import pytest
from tests.verbs.thread_rows import (
    OWNED,
    begin,
    close_command,
    confirmed,
    ended,
    exchange,
    left_of,
    message,
    proposal_of,
    save_command,
    thread_of,
)
from tests.verbs.turn_rows import at_tools, queued_turn, row_of, take, turn_in

from askbus.db.pool import Pool
from askbus.errors import NotFound
from askbus.records.changes import OutcomeState
from askbus.testing.people import Company
from askbus.testing.turns import RunningTurn
from askbus.threads import reads, verbs
from askbus.threads.model import Search, ThreadFilter
from askbus.turns import verbs as turns
from askbus.turns.model import Claim, TurnState

DAY = timedelta(hours=24)


async def aged(pool: Pool, thread_id: UUID, by: timedelta = DAY) -> None:
    """As if nothing had been said in it for so long."""
    await pool.execute("UPDATE threads SET updated_at = now() - $2::interval WHERE id = $1", thread_id, by)


async def listed(pool: Pool, company: Company) -> list[UUID]:
    """What Mia's list and a search show together; they agree."""
    mia = company["mia"].principal
    page = [thread.id for thread in (await reads.list_page(pool, mia, ThreadFilter())).threads]
    found = [hit.thread.id for hit in (await reads.search(pool, mia, Search(q="hello"))).hits]
    assert page == found
    return page


@pytest.mark.requirement("C35")
async def test_a_temporary_thread_is_durable_and_in_no_list_until_it_is_saved(loop: Pool, pool: Pool, company: Company) -> None:
    """Whoever has its id goes on in it; saved it is a thread like any other, and nothing ends it."""
    mia = company["mia"].principal
    thread = await thread_of(loop, company, temporary=True)
    await exchange(loop, company, thread.id)
    seen = await reads.get(pool, mia, thread.id)
    assert (seen.temporary, len(seen.messages)) == (True, 2)
    assert seen.expires_at == seen.updated_at + DAY
    assert await listed(pool, company) == []

    for _again in range(2):
        saved = await verbs.save(loop, save_command(mia, thread.id), trace=None)
        assert (saved.temporary, saved.expires_at) == (False, None)
    assert await listed(pool, company) == [thread.id]
    told = await pool.fetch("SELECT fact FROM change_log WHERE entity = 'thread' ORDER BY seq")
    assert [row["fact"] for row in told].count("thread.saved") == 1
    await aged(pool, thread.id)
    assert await verbs.expire_due(loop) == []


@pytest.mark.requirement("C35", "O9")
async def test_past_its_time_a_temporary_thread_is_gone_at_use_swept_or_not(loop: Pool, pool: Pool, company: Company) -> None:
    """It is read, saved, closed and written to no more; a moment earlier a message keeps it for another day."""
    mia = company["mia"].principal
    thread = await thread_of(loop, company, temporary=True)
    await aged(pool, thread.id, DAY - timedelta(seconds=30))
    async with loop.acquire() as db, db.transaction():
        await begin(db, message(mia, thread.id))
    await aged(pool, thread.id, DAY - timedelta(seconds=30))
    assert (await reads.get(pool, mia, thread.id)).id == thread.id
    await aged(pool, thread.id)
    with pytest.raises(NotFound):
        await reads.get(pool, mia, thread.id)
    with pytest.raises(NotFound):
        await verbs.save(loop, save_command(mia, thread.id), trace=None)
    with pytest.raises(NotFound):
        await ended(loop, close_command(mia, thread.id))
    with pytest.raises(NotFound):
        async with loop.acquire() as db, db.transaction():
            await begin(db, message(mia, thread.id))


@pytest.mark.requirement("C35", "O8", "O9")
async def test_two_sweeps_delete_each_thread_past_its_time_once_with_all_that_it_owns(
    loop: Pool, pool: Pool, expiry: Pool, company: Company
) -> None:
    """Temporary ones, and those of front ends that never say when a chat ends; ordinary ones stay, and those that a worker is at."""
    threads = [await thread_of(loop, company, temporary=True) for _ in range(5)]
    idle = await thread_of(loop, company, idle_limit=timedelta(days=30))
    kept = await thread_of(loop, company)
    for thread in (*threads, idle, kept):
        await exchange(loop, company, thread.id)
    busy, waiting = [await thread_of(loop, company, temporary=True) for _ in range(2)]
    await queued_turn(loop, company, busy.id)
    parked = await queued_turn(loop, company, waiting.id)
    await at_tools(loop, parked)
    row = await row_of(loop, parked)
    assert await turns.wait(loop, Claim(parked, row["step"], row["attempt"]))
    for thread in (*threads, busy, waiting, kept):
        await aged(pool, thread.id)
    await aged(pool, idle.id, timedelta(days=30))

    swept = await asyncio.gather(*(verbs.expire_due(expiry, batch=4) for _ in range(2)))
    swept += [await verbs.expire_due(expiry)]

    gone = [thread_id for batch in swept for thread_id in batch]
    assert sorted(gone) == sorted([*(thread.id for thread in threads), idle.id, waiting.id])
    assert {row["id"] for row in await pool.fetch("SELECT id FROM threads")} == {kept.id, busy.id}
    facts = await pool.fetch("SELECT entity_id FROM change_log WHERE fact = 'thread.deleted'")
    assert sorted(row["entity_id"] for row in facts) == sorted(gone)
    assert await pool.fetchval("SELECT entity_id FROM change_log WHERE fact = 'turn.cancelled'") == parked
    assert await pool.fetchval("SELECT count(*) FROM audit_log WHERE event = 'thread.expired'") == len(gone)


@pytest.mark.requirement("C13")
async def test_past_the_bound_the_oldest_exchanges_go_whole_and_it_is_said_how_many(
    loop: Pool, pool: Pool, company: Company
) -> None:
    """Never half of one, never what is at work, and what is left is counted rightly for the next time."""
    mia = company["mia"].principal
    thread = await thread_of(loop, company)
    done = [await exchange(loop, company, thread.id) for _ in range(6)]
    asked = await queued_turn(loop, company, thread.id)
    assert (await take(loop, asked)).claim

    async def trim(messages: int, size: int = 1 << 30) -> int:
        async with loop.acquire() as db, db.transaction():
            return await verbs.trim(db, thread.id, most_messages=messages, most_bytes=size)

    assert await trim(13) == 0
    assert await trim(8) == 3  # the message at work, three exchanges, and half of one that goes too
    seen = await reads.get(pool, mia, thread.id)
    assert list(dict.fromkeys(said.turn_id for said in seen.messages)) == [*done[3:], asked]
    assert (seen.dropped_turns, seen.revision) == (3, 13)
    assert await trim(8) == 3
    assert await trim(8, size=1) == 6
    assert await pool.fetchval("SELECT array_agg(id) FROM turns") == [asked]
    assert await pool.fetchval("SELECT revision - dropped_messages FROM threads") == 1


@pytest.mark.requirement("C13")
async def test_what_was_confirmed_in_a_dropped_exchange_stays_and_what_waits_for_a_decision_too(
    loop: Pool, pool: Pool, company: Company, turn: RunningTurn
) -> None:
    """An exchange that goes takes its words and calls along; a card that somebody may still decide on is not taken away."""
    mia = company["mia"].principal
    applied, pending = await proposal_of(pool, turn), await proposal_of(pool, turn)
    await confirmed(pool, mia, applied, OutcomeState.APPLIED)
    assert await turns.fail(loop, turn.id, "internal")
    await exchange(loop, company, turn.thread_id)
    async with loop.acquire() as db, db.transaction():
        await verbs.trim(db, turn.thread_id, most_messages=2, most_bytes=1)
    assert await left_of(pool, OWNED) == {"actions": 2}
    states = await pool.fetch("SELECT state FROM actions ORDER BY id")
    assert [row["state"] for row in states] == ["applied", "pending"]
    assert {applied.thread_id, pending.thread_id} == {turn.thread_id}


@pytest.mark.requirement("C13", "C3")
async def test_a_turn_that_waits_for_a_person_is_never_dropped(loop: Pool, pool: Pool, company: Company) -> None:
    """However little may be kept, and neither is anything after it."""
    turn_id = await turn_in(loop, company, TurnState.WAITING)
    thread_id = await pool.fetchval("SELECT thread_id FROM turns WHERE id = $1", turn_id)
    async with loop.acquire() as db, db.transaction():
        assert await verbs.trim(db, thread_id, most_messages=0, most_bytes=0) == 0
    assert await pool.fetchval("SELECT state FROM turns WHERE id = $1", turn_id) == "waiting"
