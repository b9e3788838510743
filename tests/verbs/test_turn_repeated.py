"""Turns that answer an earlier one's message, and answers that do not end their turn, on the database."""

from dataclasses import replace
from uuid import UUID, uuid4

import pytest
from tests.verbs.thread_rows import exchange, thread_of
from tests.verbs.turn_rows import new_thread, queued_turn, row_of, said, take, taken

from askbus.db.ids import new_id
from askbus.db.pool import Pool
from askbus.testing.people import Company
from askbus.threads import verbs as threads
from askbus.turns import verbs
from askbus.turns.model import RetryTurn


async def repeated(loop: Pool, company: Company, turn_id: UUID) -> UUID:
    """A finished turn that answers this one's message anew."""
    command = RetryTurn(
        command_id=uuid4(), by=company["mia"].principal, turn_id=new_id(), again=turn_id, client_message_id=str(uuid4())
    )
    async with loop.acquire() as db, db.transaction():
        made = (await verbs.retry(db, command, trace=None)).turn.id
    assert await verbs.finish_model_step(loop, await taken(loop, made), said(), trace=None)
    return made


@pytest.mark.requirement("C10", "C13", "I10")
async def test_the_answers_to_one_message_go_together_when_its_exchange_goes(loop: Pool, pool: Pool, company: Company) -> None:
    """Also where one was made long after: the message is as old as it is. Who had it made is in the audit log, once."""
    thread = await thread_of(loop, company)
    failed = await queued_turn(loop, company, thread.id)
    assert await verbs.fail(loop, failed, "internal")
    kept = await exchange(loop, company, thread.id)
    made = await repeated(loop, company, failed)
    [entry] = await pool.fetch("SELECT user_id, via, entity_id, part_id FROM audit_log WHERE event = 'turn.retried'")
    assert tuple(entry) == (company["mia"].id, "session", failed, made)

    async def trim(messages: int) -> int:
        async with loop.acquire() as db, db.transaction():
            return await threads.trim(db, thread.id, most_messages=messages, most_bytes=1 << 30)

    assert await trim(4) == 0
    assert await trim(3) == 2
    assert await pool.fetchval("SELECT array_agg(id) FROM turns") == [kept]


@pytest.mark.requirement("C34")
async def test_an_answer_that_goes_back_to_the_model_leaves_its_turn_at_work(loop: Pool, pool: Pool, company: Company) -> None:
    """It is recorded as a step like any other; the next one is anybody's, also after a death."""
    turn_id = await queued_turn(loop, company, await new_thread(loop, company))
    claim = await taken(loop, turn_id)
    assert await verbs.finish_model_step(loop, claim, replace(said(), nudged=True), trace=None)
    row = await row_of(loop, turn_id)
    assert (row["state"], row["step"], row["holder"], row["model_calls"]) == ("running", 2, None, 1)
    assert await verbs.finish_model_step(loop, claim, said(), trace=None) is None
    assert turn_id in {row["id"] for row in await verbs.resting(loop, stuck=0, turn_ms=300_000)}
    assert (await take(loop, turn_id, step=2)).claim is not None
    assert await pool.fetchval("SELECT nudged FROM messages WHERE turn_id = $1 AND step = 1", turn_id)


@pytest.mark.requirement("C4", "C34")
async def test_an_answer_that_ends_its_turn_as_failed_is_recorded_with_it(loop: Pool, pool: Pool, company: Company) -> None:
    """In one statement: no step is done without its turn being over."""
    turn_id = await queued_turn(loop, company, await new_thread(loop, company))
    assert await verbs.finish_model_step(loop, await taken(loop, turn_id), replace(said(), error="no_answer"), trace=None)
    row = await row_of(loop, turn_id)
    assert (row["state"], row["error_code"], row["settled_at"] is not None) == ("failed", "no_answer", True)
    assert await pool.fetchval("SELECT text FROM messages WHERE turn_id = $1 AND role = 'assistant'", turn_id) == "words"
