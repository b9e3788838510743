"""A thousand questions while everything dies around them: `make drill` runs it, printing its seed."""

import asyncio
import os
import random
from collections import Counter
from typing import Any
from uuid import UUID

import pytest
from tests.faults import scenes
from tests.faults.conftest import World

from askbus.client import BusClient, HttpClient
from askbus.client.agent import AgentClient
from askbus.questions.model import QuestionDetail
from askbus.testing.invariants import assert_invariants
from askbus.testing.patient import Patient

pytestmark = [pytest.mark.drill, pytest.mark.xdist_group("stack")]

QUESTIONS = int(os.environ.get("ASKBUS_DRILL_QUESTIONS", "1000"))
AT_ONCE = 100
"""How many askers wait at the same time, on each way in."""
BETWEEN_DEATHS = (0.3, 2.0)
KILLED = ("gateway", "question-broker", "expiry", "postgres", "nats")
WITHIN = 900.0
PATIENT = 120.0
"""Seconds for which a client goes on trying."""

ENDS = ("answered", "declined", "cancelled", "expired")


@pytest.mark.requirement("Q5", "Q2", "Q6", "O9", "O10")
async def test_every_asker_gets_exactly_one_outcome_whatever_dies(world: World) -> None:
    """Half of them ask over HTTP, half on the bus; each is answered, declined, cancelled by its asker, or left to expire. Gateway, broker,
    expiry, Postgres and NATS die at random: every wait ends with the one outcome that the question has, and none is left to be told."""
    seed = int(os.environ.get("ASKBUS_DRILL_SEED", random.randrange(10**6)))
    print(f"seed {seed}")
    chance = random.Random(seed)
    await world.stack.wait_ready()
    outcomes: dict[UUID, QuestionDetail] = {}
    async with (
        asyncio.timeout(WITHIN),
        HttpClient(world.stack.http_url, world.agent.token, patience=PATIENT) as http,
        BusClient(world.stack.nats.url, world.agent.token, patience=PATIENT) as bus,
        world.browser(world.company["max"]) as max_,
    ):
        max_.patience = PATIENT
        stories = asyncio.gather(
            *(_play(world, way, slots, max_, n, outcomes) for way, slots in _ways(http, bus) for n in range(QUESTIONS // 2))
        )
        deaths = await _kill_until(stories, world, chance)
        await stories
        await world.stack.wait_ready()
        await scenes.at_rest(world)
        await _hear_the_rest(world, bus)
    print(f"{deaths} while {Counter(outcome.state.value for outcome in outcomes.values())}")
    assert len(outcomes) == QUESTIONS
    ids = list(outcomes)
    rows = await world.db.fetch("SELECT id, state FROM questions WHERE id = ANY ($1)", ids)
    assert {row["id"]: row["state"] for row in rows} == {key: outcome.state.value for key, outcome in outcomes.items()}
    ended = await world.db.fetch(
        "SELECT entity_id, count(*) FROM change_log WHERE entity_id = ANY ($1) AND status <> 'open' GROUP BY 1", ids
    )
    assert {row["entity_id"]: row["count"] for row in ended} == dict.fromkeys(ids, 1)
    await assert_invariants(world.db)


def _ways(http: AgentClient, bus: AgentClient) -> list[tuple[AgentClient, asyncio.Semaphore]]:
    return [(http, asyncio.Semaphore(AT_ONCE)), (bus, asyncio.Semaphore(AT_ONCE))]


async def _play(
    world: World, way: AgentClient, slots: asyncio.Semaphore, max_: Patient, n: int, outcomes: dict[UUID, QuestionDetail]
) -> None:
    """One question from ask to outcome."""
    async with slots:
        end = ENDS[n % len(ENDS)]
        asked = await way.ask(world.company.north, f"Question {n}?", expires_in=1 if end == "expired" else 3600)
        waiting = asyncio.create_task(way.wait(asked.id, PATIENT))
        if end == "answered":
            await max_.post(f"/v1/questions/{asked.id}/answer", {"answer": f"answer {n}"})
        elif end == "declined":
            await max_.post(f"/v1/questions/{asked.id}/decline", {})
        elif end == "cancelled":
            await way.cancel(asked.id)
        outcome = await waiting
        assert outcome.state.value == end, outcome
        assert outcome.answer == (f"answer {n}" if end == "answered" else None)
        assert asked.id not in outcomes
        outcomes[asked.id] = outcome


async def _kill_until(stories: "asyncio.Future[Any]", world: World, chance: random.Random) -> Counter[str]:
    """Kills each once in a random order, and again, until the stories are over; returns how often each died."""
    deaths: Counter[str] = Counter()
    left: list[str] = []
    while not stories.done():
        await asyncio.wait({stories}, timeout=chance.uniform(*BETWEEN_DEATHS))
        if not left:
            left = chance.sample(KILLED, len(KILLED))
        name = left.pop()
        if name in world.stack.servers:
            await world.stack.servers[name].kill()
            await world.stack.servers[name].restart()
        else:
            await world.service(name).kill()
        deaths[name] += 1
    return deaths


async def _hear_the_rest(world: World, bus: BusClient) -> None:
    """What was asked over HTTP waits for its agent on the bus too: it hears all of it, and then nothing is left."""
    count = "SELECT count(*) FROM questions WHERE token_id = $1 AND untold > 0"
    if not await world.db.fetchval(count, world.agent.id):
        return
    async with asyncio.timeout(PATIENT):
        async for outcome in bus.outcomes():
            await bus.heard(outcome)
            if not await world.db.fetchval(count, world.agent.id):
                return
