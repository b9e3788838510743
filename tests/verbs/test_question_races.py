"""Questions that several connections move in the same moment. Each race is made: one waits for the other's lock."""

import asyncio
from collections.abc import Awaitable, Callable
from uuid import UUID

import pytest
from asyncpg import Connection as Raw
from asyncpg import Record

from askbus.db.pool import Pool, open_pool
from askbus.errors import Conflict, InvalidInput
from askbus.questions import reads, verbs
from askbus.questions.model import Question, QuestionState
from askbus.testing.people import Company
from askbus.testing.questions import (
    answer_command,
    ask_back_command,
    ask_command,
    cancel_command,
    decline_command,
    open_question,
)
from askbus.testing.servers import TestDatabase
from askbus.testing.waiting import until


async def waits_for_a_lock(pool: Pool, backend: int) -> bool:
    return bool(await pool.fetchval("SELECT wait_event_type = 'Lock' FROM pg_stat_activity WHERE pid = $1", backend))


async def overlap(
    pool: Pool, first: Callable[["Raw[Record]"], Awaitable[object]], second: Callable[["Raw[Record]"], Awaitable[Question]]
) -> Question:
    """What `second` gets that begins while `first` is done and not committed, and goes on when it is."""
    async with pool.acquire() as one, pool.acquire() as two:
        backend = await two.fetchval("SELECT pg_backend_pid()")
        transaction = one.transaction()
        await transaction.start()
        await first(one)  # type: ignore[arg-type]  # a pool's connection is as good
        late = asyncio.ensure_future(second(two))  # type: ignore[arg-type]
        await until(lambda: waits_for_a_lock(pool, backend))
        await transaction.commit()
        return await late


@pytest.mark.requirement("Q1")
async def test_two_asks_with_one_dedupe_key_at_once_are_one_question(pool: Pool, company: Company) -> None:
    """The late one waits for the first to commit, and gets its question."""
    mia = company["mia"].principal
    early, late = (ask_command(mia, company.north, dedupe_key="k") for _ in range(2))
    found = await overlap(pool, lambda db: verbs.ask(db, early, trace=None), lambda db: verbs.ask(db, late, trace=None))
    assert found.id == early.question_id
    assert await pool.fetchval("SELECT count(*) FROM questions") == 1
    assert await pool.fetchval("SELECT count(*) FROM change_log WHERE entity = 'question'") == 1


@pytest.mark.requirement("Q1")
async def test_two_asks_with_one_key_that_supersede_the_same_are_one_question(pool: Pool, company: Company) -> None:
    """The late one finds the old question replaced already, by its own first try."""
    mia = company["mia"].principal
    old = await open_question(pool, mia, company.north)
    early, late = (ask_command(mia, company.north, dedupe_key="k", supersedes=old.id) for _ in range(2))
    found = await overlap(pool, lambda db: verbs.ask(db, early, trace=None), lambda db: verbs.ask(db, late, trace=None))
    assert found.id == early.question_id
    assert await pool.fetchval("SELECT superseded_by FROM questions WHERE id = $1", old.id) == early.question_id


@pytest.mark.requirement("Q1")
async def test_asks_with_one_key_that_supersede_different_ones_replace_one(pool: Pool, company: Company) -> None:
    """The late one asks nothing, so it replaces nothing."""
    mia = company["mia"].principal
    olds = [await open_question(pool, mia, company.north) for _ in range(2)]
    early, late = (ask_command(mia, company.north, dedupe_key="k", supersedes=old.id) for old in olds)
    found = await overlap(pool, lambda db: verbs.ask(db, early, trace=None), lambda db: verbs.ask(db, late, trace=None))
    assert found.id == early.question_id
    states = [await pool.fetchval("SELECT state FROM questions WHERE id = $1", old.id) for old in olds]
    assert states == ["superseded", "open"]


@pytest.mark.requirement("Q1")
async def test_the_same_ask_sent_twice_at_once_is_one_question(pool: Pool, company: Company) -> None:
    """Without any dedupe key: its id is enough."""
    command = ask_command(company["mia"].principal, company.north)
    found = await overlap(pool, lambda db: verbs.ask(db, command, trace=None), lambda db: verbs.ask(db, command, trace=None))
    assert found.id == command.question_id
    assert await pool.fetchval("SELECT count(*) FROM audit_log WHERE event = 'question.asked'") == 1


@pytest.mark.requirement("Q1", "Q5")
async def test_a_question_that_is_answered_meanwhile_is_not_superseded(pool: Pool, company: Company) -> None:
    """The asker is shown the answer and nothing is asked."""
    mia, max_ = company["mia"].principal, company["max"].principal
    old = await open_question(pool, mia, company.north)
    new = ask_command(mia, company.north, supersedes=old.id)
    with pytest.raises(Conflict) as conflict:
        await overlap(
            pool,
            lambda db: verbs.answer(db, answer_command(max_, old.id, "yes"), trace=None),
            lambda db: verbs.ask(db, new, trace=None),
        )
    assert isinstance(shown := conflict.value.details["question"], dict)
    assert (shown["state"], shown["answer"]) == ("answered", "yes")
    assert await pool.fetchval("SELECT count(*) FROM questions") == 1


@pytest.mark.requirement("Q4")
async def test_the_second_answer_is_refused_and_shown_the_first(pool: Pool, company: Company) -> None:
    """It does not read a row that was open when it began."""
    mia, max_ = company["mia"].principal, company["max"].principal
    question = await open_question(pool, mia, company.north)
    with pytest.raises(Conflict) as conflict:
        await overlap(
            pool,
            lambda db: verbs.answer(db, answer_command(max_, question.id, "first"), trace=None),
            lambda db: verbs.answer(db, answer_command(mia, question.id, "second"), trace=None),
        )
    assert isinstance(shown := conflict.value.details["question"], dict)
    assert (shown["state"], shown["answer"], shown["settled_by"]) == ("answered", "first", str(max_.user_id))


@pytest.mark.requirement("Q4")
async def test_an_answer_after_a_note_in_the_same_moment_keeps_both(pool: Pool, company: Company) -> None:
    """Asking back does not end the question, so the answer that waited for it goes through, and both are told."""
    mia, max_ = company["mia"].principal, company["max"].principal
    question = await open_question(pool, mia, company.north)
    answered = await overlap(
        pool,
        lambda db: verbs.ask_back(db, ask_back_command(max_, question.id), trace=None),
        lambda db: verbs.answer(db, answer_command(mia, question.id), trace=None),
    )
    assert (answered.state, answered.note_count) == (QuestionState.ANSWERED, 1)


@pytest.mark.requirement("Q4")
async def test_of_many_at_once_one_settles_and_the_audit_has_one_row(
    database: TestDatabase, pool: Pool, company: Company
) -> None:
    """Twenty answers and declines and a cancel on their own connections: one wins, the others are shown what won."""
    mia, max_ = company["mia"].principal, company["max"].principal
    question = await open_question(pool, mia, company.north)
    async with open_pool(database.url, size=21, name="racers") as racers:
        attempts = [
            *(verbs.answer(racers, answer_command(max_, question.id, f"answer {n}"), trace=None) for n in range(12)),
            *(verbs.decline(racers, decline_command(mia, question.id, f"no {n}"), trace=None) for n in range(8)),
            verbs.cancel(racers, cancel_command(mia, question.id), trace=None),
        ]
        outcomes = await asyncio.gather(*attempts, return_exceptions=True)
    won = [outcome for outcome in outcomes if isinstance(outcome, Question)]
    lost = [outcome for outcome in outcomes if isinstance(outcome, Conflict)]
    assert (len(won), len(lost)) == (1, 20)
    stored = await reads.get(pool, mia, question.id)
    assert (stored.state, stored.answer, stored.reason) == (won[0].state, won[0].answer, won[0].reason)
    for conflict in lost:
        assert isinstance(shown := conflict.details["question"], dict)
        assert (shown["state"], shown["answer"], shown["reason"]) == (stored.state, stored.answer, stored.reason)
    events = await pool.fetch("SELECT event FROM audit_log WHERE entity_id = $1 ORDER BY id", question.id)
    assert [row["event"] for row in events] == ["question.asked", f"question.{stored.state.value}"]
    facts = await pool.fetch("SELECT fact FROM change_log WHERE entity_id = $1 ORDER BY seq", question.id)
    assert [row["fact"] for row in facts] == ["question.asked", f"question.{stored.state.value}"]


@pytest.mark.requirement("Q4")
async def test_the_same_command_gets_the_same_success(pool: Pool, company: Company) -> None:
    """Sent again it is told what it did; the id under another verb, or by somebody else, is a command of its own."""
    mia, max_ = company["mia"].principal, company["max"].principal
    question = await open_question(pool, mia, company.north)
    note = ask_back_command(max_, question.id)
    for _ in range(2):
        assert (await verbs.ask_back(pool, note, trace=None)).note_count == 1
    command = answer_command(max_, question.id)
    for _ in range(2):
        assert (await verbs.answer(pool, command, trace=None)).answer == "yes"
    with pytest.raises(Conflict):
        await verbs.answer(pool, command.model_copy(update={"by": mia}), trace=None)
    decline = decline_command(max_, question.id).model_copy(update={"command_id": command.command_id})
    with pytest.raises(Conflict):
        await verbs.decline(pool, decline, trace=None)
    assert (await reads.get(pool, mia, question.id)).note_count == 1


@pytest.mark.requirement("Q4")
async def test_the_same_note_sent_twice_at_once_is_one_note(pool: Pool, company: Company) -> None:
    """The late one is told that it was written."""
    mia, max_ = company["mia"].principal, company["max"].principal
    question = await open_question(pool, mia, company.north)
    command = ask_back_command(max_, question.id)
    noted = await overlap(
        pool, lambda db: verbs.ask_back(db, command, trace=None), lambda db: verbs.ask_back(db, command, trace=None)
    )
    assert noted.note_count == 1
    assert len((await reads.get(pool, mia, question.id)).notes) == 1


@pytest.mark.requirement("Q4")
async def test_one_command_id_writes_one_note_on_one_question(pool: Pool, company: Company) -> None:
    """A note that was not written is never reported as written."""
    mia, max_ = company["mia"].principal, company["max"].principal
    questions: list[UUID] = [(await open_question(pool, mia, company.north)).id for _ in range(2)]
    command = ask_back_command(max_, questions[0])
    await verbs.ask_back(pool, command, trace=None)
    with pytest.raises(InvalidInput, match="used for something else"):
        await verbs.ask_back(pool, command.model_copy(update={"question_id": questions[1]}), trace=None)


@pytest.mark.requirement("O9")
async def test_an_answer_and_the_sweep_at_the_same_moment_leave_one_outcome(pool: Pool, company: Company) -> None:
    """The sweep passes over a row that somebody is settling, and does not come back to it."""
    mia, max_ = company["mia"].principal, company["max"].principal
    question = await open_question(pool, mia, company.north)
    async with pool.acquire() as one, one.transaction():
        await verbs.answer(one, answer_command(max_, question.id), trace=None)
        assert await verbs.expire_due(pool, now=question.expires_at) == []
    assert await verbs.expire_due(pool, now=question.expires_at) == []
    assert (await reads.get(pool, mia, question.id)).state is QuestionState.ANSWERED
