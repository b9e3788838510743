"""A thread is deleted on one connection while another works for it: whoever commits first wins, and nothing is left half."""

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress
from uuid import UUID, uuid4

import pytest
from tests.verbs.thread_rows import (
    OWNED,
    begin,
    confirmed,
    delete_command,
    ended,
    left_of,
    message,
    proposal_of,
    thread_of,
)
from tests.verbs.tool_runs import DONE, start, started
from tests.verbs.turn_rows import said, taken

from askbus.actions.model import Action
from askbus.db.pool import Connection, Pool
from askbus.errors import NotFound
from askbus.questions import verbs as questions
from askbus.testing.people import Company
from askbus.testing.questions import answer_command, ask_command, open_question
from askbus.testing.turns import RunningTurn, request_call
from askbus.testing.waiting import until
from askbus.threads import verbs as threads
from askbus.threads.model import Gone
from askbus.tools.verbs import finish_run
from askbus.turns import verbs as turns

Work = Callable[[Connection], Awaitable[object]]


async def somebody_waits(pool: Pool) -> bool:
    return bool(
        await pool.fetchval(
            "SELECT count(*) > 0 FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND datname = current_database()"
        )
    )


async def worked_first(pool: Pool, worker: Pool, loop: Pool, work: Work, thread_id: UUID, company: Company) -> Gone:
    """The work is done and not committed when the deletion comes; it waits until the work is there to be seen."""
    async with worker.acquire() as db:
        async with db.transaction():
            await work(db)
            deletion = asyncio.create_task(ended(loop, delete_command(company["mia"].principal, thread_id)))
            await until(lambda: somebody_waits(pool))
        return await deletion


async def deleted_first(pool: Pool, worker: Pool, loop: Pool, work: Work, thread_id: UUID, company: Company) -> object:
    """The thread is deleted and that is not committed when the work comes; it waits, and then finds nothing."""
    async with loop.acquire() as db:
        async with db.transaction():
            await threads.delete(db, delete_command(company["mia"].principal, thread_id), trace=None)

            async def late() -> object:
                async with worker.acquire() as other, other.transaction():
                    return await work(other)

            working = asyncio.create_task(late())
            await until(lambda: somebody_waits(pool))
        with suppress(NotFound):
            return await working
        return None


@pytest.mark.requirement("C9", "C7")
async def test_a_message_that_was_appended_first_goes_with_its_thread_and_its_turn_is_told(
    loop: Pool, pool: Pool, company: Company
) -> None:
    """The deletion waits for the thread's lock and sees the turn that was queued under it."""
    thread = await thread_of(loop, company)
    command = message(company["mia"].principal, thread.id)
    gone = await worked_first(pool, loop, loop, lambda db: begin(db, command), thread.id, company)
    assert gone.ended == (command.turn_id,)
    assert await left_of(pool) == {}


@pytest.mark.requirement("C9", "C7")
async def test_a_message_to_a_thread_that_was_deleted_first_finds_none(loop: Pool, pool: Pool, company: Company) -> None:
    """It waits for the lock, and is refused."""
    thread = await thread_of(loop, company)
    command = message(company["mia"].principal, thread.id)
    assert await deleted_first(pool, loop, loop, lambda db: begin(db, command), thread.id, company) is None
    assert await left_of(pool) == {}


@pytest.mark.requirement("C9", "C2")
@pytest.mark.parametrize("first", ["work", "deletion"])
async def test_a_model_step_and_a_deletion_leave_nothing_whichever_is_first(
    loop: Pool, pool: Pool, company: Company, first: str
) -> None:
    """The last write of a model call is either in the thread that goes, or recorded nowhere."""
    thread = await thread_of(loop, company)
    async with loop.acquire() as db, db.transaction():
        turn_id = await begin(db, message(company["mia"].principal, thread.id))
    claim = await taken(loop, turn_id)

    async def finish(db: Connection) -> object:
        return await turns.finish_model_step(db, claim, said(), trace=None)

    race = worked_first if first == "work" else deleted_first
    result = await race(pool, loop, loop, finish, thread.id, company)
    assert result == Gone(id=thread.id) if first == "work" else result is None
    assert await left_of(pool, ("threads", *OWNED)) == {}


@pytest.mark.requirement("C9")
@pytest.mark.parametrize("first", ["work", "deletion"])
async def test_a_call_that_is_begun_while_its_thread_is_deleted_leaves_no_run(
    loop: Pool, pool: Pool, runner: Pool, company: Company, turn: RunningTurn, first: str
) -> None:
    """Begun first it is gone with the call, and what it comes to is recorded nowhere; begun second there is no such call."""
    call_id = await request_call(pool, turn, "resolve")

    async def run(db: Connection) -> object:
        return await start(db, call_id)  # type: ignore[arg-type]  # a connection serves as a pool does

    race = worked_first if first == "work" else deleted_first
    await race(pool, runner, loop, run, turn.thread_id, company)
    assert await left_of(pool, ("threads", *OWNED)) == {}


@pytest.mark.requirement("C9")
async def test_the_result_of_a_tool_that_comes_while_its_thread_is_deleted_goes_with_it(
    loop: Pool, pool: Pool, runner: Pool, company: Company, turn: RunningTurn
) -> None:
    """The deletion waits for the row that is being written."""
    run = await started(runner, await request_call(pool, turn, "resolve"))

    async def finish(db: Connection) -> object:
        return await finish_run(db, run, DONE, trace=None)

    await worked_first(pool, runner, loop, finish, turn.thread_id, company)
    assert await left_of(pool, ("threads", *OWNED)) == {}


@pytest.mark.requirement("C9")
@pytest.mark.parametrize("first", ["work", "deletion"])
async def test_a_question_that_is_asked_while_its_thread_is_deleted_is_never_left_open(
    loop: Pool, pool: Pool, company: Company, turn: RunningTurn, first: str
) -> None:
    """Asked first it goes with the thread, and its user hears it; asked second it is refused."""
    command = ask_command(company["mia"].principal, company.north, turn_id=turn.id)

    async def ask(db: Connection) -> object:
        return await questions.ask(db, command, trace=None)

    race = worked_first if first == "work" else deleted_first
    await race(pool, pool, loop, ask, turn.thread_id, company)
    assert await left_of(pool, ("threads", *OWNED)) == {}
    told = await pool.fetch("SELECT fact FROM change_log WHERE entity_id = $1 ORDER BY seq", command.question_id)
    assert [row["fact"] for row in told] == (["question.asked", "question.cancelled"] if first == "work" else [])


@pytest.mark.requirement("C9", "Q4")
@pytest.mark.parametrize("first", ["work", "deletion"])
async def test_an_answer_while_the_thread_is_deleted_is_lost_or_refused_and_never_half(
    loop: Pool, pool: Pool, company: Company, turn: RunningTurn, first: str
) -> None:
    """Given first it is gone with the question; second there is no such question."""
    mia = company["mia"].principal
    question = await open_question(pool, mia, company.north, turn_id=turn.id)

    async def answer(db: Connection) -> object:
        return await questions.answer(db, answer_command(mia, question.id), trace=None)

    race = worked_first if first == "work" else deleted_first
    await race(pool, pool, loop, answer, turn.thread_id, company)
    assert await left_of(pool, ("threads", *OWNED)) == {}


@pytest.mark.requirement("C9", "R16")
@pytest.mark.parametrize("first", ["work", "deletion"])
async def test_a_proposal_on_its_way_is_never_left_without_its_thread(
    loop: Pool, pool: Pool, company: Company, turn: RunningTurn, first: str
) -> None:
    """Nobody is asked to confirm what a deleted conversation proposed."""
    race = worked_first if first == "work" else deleted_first
    await race(pool, pool, loop, lambda db: proposal_of(db, turn), turn.thread_id, company)
    assert await left_of(pool, ("threads", *OWNED)) == {}


@pytest.mark.requirement("C9", "R16")
@pytest.mark.parametrize("first", ["work", "deletion"])
async def test_a_confirmed_action_stays_and_an_undecided_one_goes_whichever_commits_first(
    loop: Pool, pool: Pool, company: Company, turn: RunningTurn, first: str
) -> None:
    """A confirmation that was first is carried out, whatever becomes of the chat; one that was second finds no action."""
    mia = company["mia"].principal
    action: Action = await proposal_of(pool, turn)

    async def confirm(db: Connection) -> object:
        await confirmed(db, mia, action)
        return "confirmed"

    race = worked_first if first == "work" else deleted_first
    result = await race(pool, pool, loop, confirm, turn.thread_id, company)
    assert result != "confirmed"
    states = await pool.fetch("SELECT state FROM actions")
    assert [row["state"] for row in states] == (["confirmed"] if first == "work" else [])


@pytest.mark.requirement("C7")
async def test_two_overlapping_writers_both_survive_and_each_once(loop: Pool, pool: Pool, company: Company) -> None:
    """The second waits for the lock, reads again and appends after the first, under the next revision; sent again it is found."""
    thread = await thread_of(loop, company)
    mia = company["mia"].principal
    one, two = message(mia, thread.id, "one"), message(mia, thread.id, "two")

    async def append() -> UUID:
        async with loop.acquire() as db, db.transaction():
            return await begin(db, two)

    async with loop.acquire() as db:
        async with db.transaction():
            await begin(db, one)
            second = asyncio.create_task(append())
            await until(lambda: somebody_waits(pool))
        assert await second == two.turn_id
    repeated = two.model_copy(update={"turn_id": uuid4(), "command_id": uuid4()})
    async with loop.acquire() as db, db.transaction():
        assert await begin(db, repeated) == two.turn_id
    rows = await pool.fetch("SELECT seq, text FROM messages ORDER BY seq")
    assert [tuple(row) for row in rows] == [(1, "one"), (2, "two")]
    assert await pool.fetchval("SELECT revision FROM threads") == 2


@pytest.mark.requirement("C7")
async def test_the_same_message_sent_twice_at_once_is_appended_once(loop: Pool, pool: Pool, company: Company) -> None:
    """The second sender finds the turn that the first one's transaction has just made."""
    thread = await thread_of(loop, company)
    one = message(company["mia"].principal, thread.id, "one")
    again = one.model_copy(update={"turn_id": uuid4(), "command_id": uuid4()})

    async def append() -> UUID:
        async with loop.acquire() as db, db.transaction():
            return await begin(db, again)

    async with loop.acquire() as db:
        async with db.transaction():
            await begin(db, one)
            second = asyncio.create_task(append())
            await until(lambda: somebody_waits(pool))
        assert await second == one.turn_id
    assert await pool.fetchval("SELECT count(*) FROM messages") == 1
