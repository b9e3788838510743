"""Outcomes for agents on the bus: told until they are heard, however often anything starts anew."""

import asyncio
from contextlib import aclosing
from uuid import uuid4

import pytest
from tests.client.conftest import Stage

from askbus.access import verbs
from askbus.bus.envelope import Service
from askbus.client import BusClient, QuestionDetail, QuestionState
from askbus.db.pool import Pool
from askbus.errors import Unauthenticated
from askbus.testing.people import Agent, Company, give_token
from askbus.testing.waiting import until


def on_the_bus(stage: Stage, agent: Agent) -> BusClient:
    return BusClient(stage.nats.url, agent.token, patience=15)


async def first(bus: BusClient) -> QuestionDetail:
    """The next outcome, looked at and not acknowledged: as by a process that dies while it acts on it."""
    async with asyncio.timeout(15), aclosing(bus.outcomes()) as outcomes:
        return await anext(outcomes)


async def untold(pool: Pool) -> int:
    return int(await pool.fetchval("SELECT coalesce(sum(untold), 0) FROM questions"))


async def all_heard(pool: Pool) -> None:
    async def heard() -> bool:
        return await untold(pool) == 0

    await until(heard)


@pytest.mark.requirement("Q5", "Q6")
async def test_an_agent_that_was_away_hears_the_outcome_until_it_acknowledges_it(
    stage: Stage, company: Company, pool: Pool
) -> None:
    """Each new connection tells it again; once it is acknowledged, none does."""
    agent = await give_token(pool, company["mia"])
    async with on_the_bus(stage, agent) as bus:
        asked = await bus.ask(company.north, "While I am away?")
    await stage.answer(company["max"], asked.id, "done")
    for _process in range(2):
        async with on_the_bus(stage, agent) as bus:
            told = await first(bus)
            assert (told.id, told.answer, told.settled_by_name) == (asked.id, "done", "max")
    async with on_the_bus(stage, agent) as bus:
        next_one = await bus.ask(company.north, "And this?")
        async with aclosing(bus.outcomes()) as outcomes:
            assert (await anext(outcomes)).id == asked.id
            following = asyncio.create_task(anext(outcomes))
            await all_heard(pool)
            await stage.answer(company["max"], next_one.id, "this too")
            assert (await following).id == next_one.id


@pytest.mark.requirement("Q6")
async def test_an_outcome_comes_while_the_agent_listens(stage: Stage, company: Company, pool: Pool) -> None:
    """Every way in which a question ends, each as it happens."""
    async with on_the_bus(stage, await give_token(pool, company["mia"])) as bus:
        outcomes = bus.outcomes()
        seen = []
        listening = asyncio.create_task(anext(outcomes))
        for number, end in enumerate(("answer", "decline", "cancel", "expire", "supersede")):
            asked = await bus.ask(company.north, f"Question {number}?", expires_in=1 if end == "expire" else 3600)
            await _settle(stage, company, bus, asked.id, end)
            async with asyncio.timeout(15):
                told = await listening
            assert told.id == asked.id
            seen.append(told.state.value)
            listening = asyncio.create_task(anext(outcomes))
        listening.cancel()
        assert seen == ["answered", "declined", "cancelled", "expired", "superseded"]


async def _settle(stage: Stage, company: Company, bus: BusClient, question_id: object, end: str) -> None:
    if end == "answer":
        await stage.answer(company["max"], question_id, "yes")
    elif end == "decline":
        async with stage.browser(company["max"]) as browser:
            await browser.post(f"/v1/questions/{question_id}/decline", json={"reason": "not now"})
    elif end == "cancel":
        await bus.cancel(str(question_id))
    elif end == "supersede":
        await bus.ask(company.north, "Rather this?", supersedes=str(question_id))


@pytest.mark.requirement("Q4", "Q6")
async def test_what_came_after_the_acknowledged_is_told_too(stage: Stage, company: Company, pool: Pool) -> None:
    """Somebody asks back, then answers before the note was acknowledged: the answer is told all the same."""
    async with on_the_bus(stage, await give_token(pool, company["mia"])) as bus, aclosing(bus.outcomes()) as outcomes:
        asked = await bus.ask(company.north, "Which of them?")
        await stage.ask_back(company["max"], asked.id, "Of what?")
        noted = await anext(outcomes)
        assert (noted.state, noted.notes[0].text) == (QuestionState.OPEN, "Of what?")
        await stage.answer(company["max"], asked.id, "the second")
        assert (await anext(outcomes)).answer == "the second"


@pytest.mark.requirement("Q6")
async def test_an_acknowledgement_that_arrives_twice_hides_nothing(stage: Stage, company: Company, pool: Pool) -> None:
    """The reply to it may be lost, and it is sent again, after the next thing has happened."""
    async with on_the_bus(stage, await give_token(pool, company["mia"])) as bus:
        asked = await bus.ask(company.north, "Which of them?")
        await stage.ask_back(company["max"], asked.id, "Of what?")
        noted = await first(bus)
        await bus.heard(noted)
        assert await untold(pool) == 0
        await stage.answer(company["max"], asked.id, "the second")
        await bus.heard(noted)
        assert (await first(bus)).answer == "the second"


@pytest.mark.requirement("Q6")
async def test_an_outcome_that_was_waited_for_is_not_told_again(stage: Stage, company: Company, pool: Pool) -> None:
    """`wait` acknowledges what it returned; `outcomes` beside it tells the others."""
    async with on_the_bus(stage, await give_token(pool, company["mia"])) as bus, aclosing(bus.outcomes()) as outcomes:
        listening = asyncio.create_task(anext(outcomes))
        waited = await bus.ask(company.north, "Waited for?")
        other = await bus.ask(company.north, "Not waited for?")
        waiting = asyncio.create_task(bus.wait(waited.id, 30))
        await stage.answer(company["max"], waited.id, "one")
        assert (await waiting).answer == "one"
        await all_heard(pool)
        await stage.answer(company["max"], other.id, "two")
        assert (await listening).id == other.id


@pytest.mark.requirement("Q6", "I7")
async def test_an_agent_hears_nothing_of_others_and_acknowledges_nothing_of_theirs(
    stage: Stage, company: Company, pool: Pool
) -> None:
    """A colleague's agent in the same project: its outcomes are its own."""
    mias, others = await give_token(pool, company["mia"]), await give_token(pool, company["mia"])
    async with on_the_bus(stage, mias) as bus, on_the_bus(stage, others) as other:
        asked = await bus.ask(company.north, "Mine?")
        await stage.answer(company["max"], asked.id, "yes")
        told = await first(bus)
        await other.heard(told)
        assert await untold(pool) == 1
        own = await other.ask(company.north, "Other?")
        await stage.answer(company["max"], own.id, "yes")
        assert (await first(other)).id == own.id


@pytest.mark.requirement("Q6", "O10")
async def test_outcomes_go_on_after_every_service_and_server_started_anew(stage: Stage, company: Company, pool: Pool) -> None:
    """The broker, the gateway, NATS killed: whoever listens goes on listening, and misses nothing."""
    async with on_the_bus(stage, await give_token(pool, company["mia"])) as bus, aclosing(bus.outcomes()) as outcomes:
        for what in ("broker", "gateway", "nats"):
            asked = await bus.ask(company.north, f"After the {what}?")
            listening = asyncio.create_task(anext(outcomes))
            if what == "broker":
                await stage.restart(Service.QUESTION_BROKER)
            elif what == "gateway":
                await stage.restart(Service.GATEWAY)
            else:
                await stage.nats.kill()
                await stage.nats.start()
                await stage.ready()
            await stage.answer(company["max"], asked.id, what)
            async with asyncio.timeout(30):
                assert (await listening).answer == what


@pytest.mark.requirement("I3", "Q6")
async def test_outcomes_end_when_the_token_is_revoked(stage: Stage, company: Company, pool: Pool) -> None:
    """At the next thing that happens, or when the connection is made anew: then NATS itself asks the gateway."""
    agent = await give_token(pool, company["mia"])
    async with on_the_bus(stage, agent) as bus:
        listening = asyncio.create_task(anext(bus.outcomes()))
        await bus.ask(company.north, "Are you listening?")
        await verbs.revoke_token(pool, company["mia"].principal, agent.id)
        await stage.nats.kill()
        await stage.nats.start()
        async with asyncio.timeout(30):
            with pytest.raises(Unauthenticated):
                await listening
        with pytest.raises(Unauthenticated):
            await bus.get(uuid4())


async def test_closing_a_client_ends_what_goes_on(stage: Stage, company: Company, pool: Pool) -> None:
    """A wait and a listener of a client that is closed do not hang."""
    bus = on_the_bus(stage, await give_token(pool, company["mia"]))
    async with bus:
        asked = await bus.ask(company.north, "Forever?")
        going = [asyncio.create_task(bus.wait(asked.id, 600)), asyncio.create_task(anext(bus.outcomes()))]
        await bus.list_open()
    for task in going:
        with pytest.raises(RuntimeError, match="closed"):
            await task
