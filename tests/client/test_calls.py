"""The five calls of agents: one scenario, every door."""

import asyncio
from uuid import uuid4

import pytest
from tests.client.conftest import Door, Stage

from askbus.access import verbs
from askbus.access.model import Scope
from askbus.client import QuestionState, http
from askbus.db.pool import Pool
from askbus.errors import Conflict, InvalidInput, NotFound, PermissionDenied, Unauthenticated
from askbus.testing.people import Company, give_token
from askbus.testing.waiting import until


@pytest.mark.requirement("Q1", "Q3", "Q6", "Q14")
async def test_an_answer_reaches_the_agent_that_waits(door: Door, stage: Stage, company: Company, pool: Pool) -> None:
    """Asked with options, answered by a member while the agent waits, returned with who answered."""
    async with door(await give_token(pool, company["mia"])) as bus:
        asked = await bus.ask(company.north, "Ship it?", title="Release", options=["yes", "no"], free_text=False)
        assert (asked.state, asked.text, asked.options) == (QuestionState.OPEN, "Ship it?", ("yes", "no"))
        waiting = asyncio.create_task(bus.wait(asked.id, 30))
        await stage.answer(company["max"], asked.id, "yes")
        told = await waiting
        assert (told.state, told.answer, told.settled_by_name) == (QuestionState.ANSWERED, "yes", "max")
        assert await bus.get(str(asked.id)) == told


@pytest.mark.requirement("Q2")
async def test_a_wait_ends_with_its_time_and_the_question_stays_open(door: Door, company: Company, pool: Pool) -> None:
    """Nobody answers: the call returns the open question after its seconds, from `ask` too."""
    async with door(await give_token(pool, company["mia"])) as bus:
        asked = await bus.ask(company.north, "Anybody?", wait_seconds=0.2)
        assert asked.state is QuestionState.OPEN
        assert (await bus.wait(asked.id, 0.1)).state is QuestionState.OPEN


@pytest.mark.requirement("Q2")
async def test_one_call_can_ask_and_wait(door: Door, stage: Stage, company: Company, pool: Pool) -> None:
    """`wait_seconds` of `ask` returns as soon as the answer exists."""
    async with door(await give_token(pool, company["mia"])) as bus:
        question_id = uuid4()
        asking = asyncio.create_task(bus.ask(company.north, "Which?", question_id=question_id, wait_seconds=30))
        await _asked(pool, question_id)
        await stage.answer(company["owner"], question_id, "this one")
        assert (await asking).answer == "this one"


@pytest.mark.requirement("Q13", "Q2")
async def test_several_are_asked_as_one_and_waited_for_together(door: Door, stage: Stage, company: Company, pool: Pool) -> None:
    """In their order; the wait ends with the last answer; a set with an impossible one is refused and asks nothing."""
    async with door(await give_token(pool, company["mia"])) as bus:
        wanted = [{"project_id": company.north, "text": f"Question {n}?"} for n in range(3)]
        set_id = uuid4()
        asked = await bus.ask_many(wanted, set_id=set_id)
        assert [one.text for one in asked] == ["Question 0?", "Question 1?", "Question 2?"]
        waiting = asyncio.create_task(bus.ask_many(wanted, set_id=set_id, wait_seconds=30))
        for n in (2, 0, 1):
            assert not waiting.done()
            await stage.answer(company["max"], asked[n].id, f"answer {n}")
        assert [(one.id, one.answer) for one in await waiting] == [(one.id, f"answer {n}") for n, one in enumerate(asked)]
        with pytest.raises(NotFound, match="Question 2 of the set"):
            await bus.ask_many([wanted[0], {**wanted[1], "project_id": company.south}])
        with pytest.raises(InvalidInput, match="at most 20"):
            await bus.ask_many(wanted * 7)
    assert await pool.fetchval("SELECT count(*) FROM questions") == 3


@pytest.mark.requirement("Q1", "Q6")
async def test_what_is_asked_twice_counts_once(door: Door, stage: Stage, company: Company, pool: Pool) -> None:
    """The same id, sent again, finds the same question; so does a dedupe key, also once it is answered."""
    async with door(await give_token(pool, company["mia"])) as bus:
        first = await bus.ask(company.north, "Again?", question_id=uuid4(), dedupe_key="nightly")
        again = await bus.ask(company.north, "Again?", question_id=first.id, dedupe_key="nightly")
        assert again == first
        await stage.answer(company["max"], first.id, "enough")
        later = await bus.ask(company.north, "Again, differently?", dedupe_key="nightly", wait_seconds=5)
        assert (later.id, later.answer) == (first.id, "enough")
        assert await pool.fetchval("SELECT count(*) FROM questions") == 1


@pytest.mark.requirement("Q3")
async def test_an_agent_finds_what_it_left_open(door: Door, stage: Stage, company: Company, pool: Pool) -> None:
    """`list_open` shows this token's open questions, newest first, and nobody else's."""
    async with door(await give_token(pool, company["mia"])) as bus, door(await give_token(pool, company["mia"])) as other:
        first, second, third = [await bus.ask(company.north, f"Question {number}") for number in range(3)]
        await other.ask(company.north, "Another agent's")
        await bus.cancel(second.id)
        assert [question.id for question in await bus.list_open()] == [third.id, first.id]


@pytest.mark.requirement("Q3")
async def test_more_open_questions_than_one_page_holds_are_all_listed(
    door: Door, company: Company, pool: Pool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`list_open` follows the pages to their end."""
    monkeypatch.setattr("askbus.client.agent.PAGE", 2)
    async with door(await give_token(pool, company["mia"])) as bus:
        asked = [await bus.ask(company.north, f"Question {number}") for number in range(5)]
        assert [question.id for question in await bus.list_open()] == [question.id for question in reversed(asked)]


@pytest.mark.requirement("Q3", "Q5")
async def test_a_question_is_taken_back_once_and_for_all(door: Door, stage: Stage, company: Company, pool: Pool) -> None:
    """Cancelling again is the same success; what was answered cannot be cancelled, and the agent sees what won."""
    async with door(await give_token(pool, company["mia"])) as bus:
        asked = await bus.ask(company.north, "Never mind?")
        assert (await bus.cancel(asked.id)).state is QuestionState.CANCELLED
        assert (await bus.cancel(asked.id)).state is QuestionState.CANCELLED
        answered = await bus.ask(company.north, "Too late?")
        await stage.answer(company["max"], answered.id, "yes")
        with pytest.raises(Conflict) as refused:
            await bus.cancel(answered.id)
        assert "answered" in str(refused.value.details["question"])


@pytest.mark.requirement("Q4")
async def test_what_a_person_asks_back_is_shown_and_the_question_stays_open(
    door: Door, stage: Stage, company: Company, pool: Pool
) -> None:
    """A note is no outcome: the wait goes on, and what it returns holds the note."""
    async with door(await give_token(pool, company["mia"])) as bus:
        asked = await bus.ask(company.north, "Delete the staging database?")
        await stage.ask_back(company["max"], asked.id, "Which one?")
        seen = await bus.wait(asked.id, 0.1)
        assert (seen.state, [note.text for note in seen.notes]) == (QuestionState.OPEN, ["Which one?"])


@pytest.mark.requirement("Q5")
async def test_a_wait_ends_when_the_question_expires(door: Door, company: Company, pool: Pool) -> None:
    """Past its time a question reads as expired, and who waits is told so at once."""
    async with door(await give_token(pool, company["mia"])) as bus:
        told = await bus.ask(company.north, "Quick?", expires_in=1, wait_seconds=30)
        assert told.state is QuestionState.EXPIRED


async def test_nonsense_is_refused_before_it_is_sent(door: Door, company: Company, pool: Pool) -> None:
    """The client knows the rules of a question, and names the field."""
    async with door(await give_token(pool, company["mia"])) as bus:
        with pytest.raises(InvalidInput, match="text"):
            await bus.ask(company.north, "  ")
        with pytest.raises(InvalidInput, match=r"^multiple needs options"):
            await bus.ask(company.north, "Which?", multiple=True)
        with pytest.raises(InvalidInput, match="no id"):
            await bus.get("the one from yesterday")


@pytest.mark.requirement("I3", "I6")
async def test_what_is_not_an_agents_own_does_not_exist_for_it(door: Door, company: Company, pool: Pool) -> None:
    """A stranger finds neither the project nor the question; a colleague's agent cannot take it back."""
    async with (
        door(await give_token(pool, company["mia"])) as bus,
        door(await give_token(pool, company["stranger"])) as stranger,
        door(await give_token(pool, company["max"])) as colleague,
    ):
        asked = await bus.ask(company.north, "Ours?")
        for call in (stranger.get(asked.id), stranger.cancel(asked.id), stranger.wait(asked.id, 5), stranger.get(uuid4())):
            with pytest.raises(NotFound):
                await call
        with pytest.raises(NotFound):
            await stranger.ask(company.north, "May I?")
        with pytest.raises(PermissionDenied):
            await colleague.cancel(asked.id)
        with pytest.raises(InvalidInput, match="taken"):
            await colleague.ask(company.north, "Mine?", question_id=asked.id)
        assert await colleague.list_open() == ()


@pytest.mark.requirement("I4", "Q9")
async def test_who_may_not_ask_is_told_why(door: Door, company: Company, pool: Pool) -> None:
    """A token without the scope, and a demo user's."""
    reader = await give_token(pool, company["mia"], (Scope.DATA_READ,))
    async with door(reader) as bus, door(await give_token(pool, company["demo"])) as demo:
        with pytest.raises(PermissionDenied, match="questions:ask"):
            await bus.ask(company.north, "May I?")
        with pytest.raises(PermissionDenied, match="demo"):
            await demo.ask(company.north, "May I?")


@pytest.mark.requirement("I1", "I3")
async def test_a_revoked_token_is_refused_at_the_next_call(door: Door, company: Company, pool: Pool) -> None:
    """The connection may be as old as it likes."""
    agent = await give_token(pool, company["mia"])
    async with door(agent) as bus:
        asked = await bus.ask(company.north, "Still there?")
        await verbs.revoke_token(pool, company["mia"].principal, agent.id)
        for call in (bus.get(asked.id), bus.ask(company.north, "And now?"), bus.wait(asked.id, 5), bus.list_open()):
            with pytest.raises(Unauthenticated):
                await call


async def test_a_long_wait_is_many_short_requests(
    stage: Stage, company: Company, pool: Pool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Proxies cut what is silent for long: over HTTP a wait is attached again and again, and misses nothing."""
    monkeypatch.setattr(http, "ONE_WAIT", 0.05)
    async with http.HttpClient(stage.http, (await give_token(pool, company["mia"])).token) as bus:
        asked = await bus.ask(company.north, "Patience?")
        clock = asyncio.get_running_loop().time
        began = clock()
        assert (await bus.wait(asked.id, 0.3)).state is QuestionState.OPEN
        assert clock() - began >= 0.3
        waiting = asyncio.create_task(bus.wait(asked.id, 30))
        await stage.answer(company["max"], asked.id, "yes")
        assert (await waiting).answer == "yes"


async def _asked(pool: Pool, question_id: object) -> None:
    async def stored() -> bool:
        return bool(await pool.fetchval("SELECT EXISTS (SELECT FROM questions WHERE id = $1)", question_id))

    await until(stored)
