"""The law of the feed at length: ten thousand events, while gateways are stopped and started and their connections killed."""

import asyncio
import random
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from uuid import UUID

import pytest
from tests.events.conftest import BOTH_WAYS, Gateways
from tests.events.test_law import WRITERS, Follower, by_entity, history, write

from askbus.db.ids import new_id
from askbus.db.outages import TROUBLE
from askbus.db.pool import Pool
from askbus.testing.events import StreamEnded, connect
from askbus.testing.people import Agent, Company, Person, give_token
from askbus.testing.questions import open_question

pytestmark = [pytest.mark.drill, pytest.mark.requirement("S4", "S7", "S10")]

EVENTS = 10_000
TRANSACTIONS = 1000
"""Of each writer at a time; it takes one or two rounds of that."""


@dataclass
class Town:
    """Two gateways, each of which is stopped and started anew when asked."""

    urls: list[str | None] = field(default_factory=lambda: [None, None])
    again: list[asyncio.Event] = field(default_factory=lambda: [asyncio.Event(), asyncio.Event()])
    up: asyncio.Event = field(default_factory=asyncio.Event)
    """Whether any is there."""
    restarts: int = 0

    async def keep(self, gateways: Gateways, number: int) -> None:
        while True:
            self.again[number].clear()
            try:
                async with gateways() as running:
                    self.urls[number] = running.http
                    self.up.set()
                    await self.again[number].wait()
            except TROUBLE:  # it lost Postgres while it started or ran: whoever runs it starts it anew
                pass
            finally:
                self.urls[number] = None
                if not any(self.urls):
                    self.up.clear()
            self.restarts += 1


class Wanderer(Follower):
    """Comes back to whichever gateway is there."""

    async def wander(self, town: Town, *until: UUID) -> None:
        dice = random.Random(self.seed)
        awaited, last_id = set(map(str, until)), None
        while not awaited <= self.shown.keys():
            await town.up.wait()
            try:
                client = await connect(dice.choice([url for url in town.urls if url]), self.who, after=last_id)
            except ConnectionError:
                continue
            try:
                await client.begin()
                if client.status == 200:
                    await self._read(client, awaited, dice.randint(1, 200))
            except (StreamEnded, ConnectionError, asyncio.IncompleteReadError):
                pass
            finally:
                last_id = client.last_id or last_id
                if dice.random() < 0.5:
                    client.reset()
                await client.close()
            self.returns += 1


@asynccontextmanager
async def trouble(town: Town, pool: Pool, seed: int) -> AsyncIterator[None]:
    """Every half second something goes: a gateway, the connection on which one listens, or all that it has to Postgres."""

    async def go_on() -> None:
        dice = random.Random(seed)
        while True:
            await pool.execute("SELECT pg_sleep(0.5)")
            what = dice.choice(["restart", "askbus gateway listen", "askbus gateway bridge", "askbus gateway%"])
            if what == "restart":
                town.again[dice.randrange(2)].set()
                continue
            await pool.execute(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
                " WHERE application_name LIKE $1 AND datname = current_database()",
                what,
            )

    going = asyncio.create_task(go_on())
    try:
        yield
    finally:
        going.cancel()
        await asyncio.gather(going, return_exceptions=True)


@BOTH_WAYS
async def test_ten_thousand_events_reach_everyone_once_and_in_order(
    feed: str, gateways: Gateways, company: Company, pool: Pool
) -> None:
    """Each client's log is the database's history of what it may see: nothing lost, twice, foreign, or out of an entity's order."""
    owner, mia, stranger = (company[name].principal for name in ("owner", "mia", "stranger"))
    people = [(owner, [company.north, company.south]), (mia, [company.north]), (stranger, [company.elsewhere])]
    sees: list[tuple[Person | Agent, list[UUID]]] = [
        (company["owner"], [company.north, company.south]),
        (company["max"], [company.north]),
        (company["viewer"], [company.north]),
        (company["stranger"], [company.elsewhere]),
        (await give_token(pool, company["owner"], projects=(company.south,)), [company.south]),
    ]
    last = {project: new_id() for _by, projects in people for project in projects}
    since = await pool.fetchval("SELECT coalesce(max(seq), 0) FROM change_log")
    town = Town()
    keeping = [asyncio.create_task(town.keep(gateways, number)) for number in range(2)]
    followers = [Wanderer(who, 100 + number) for number, (who, _projects) in enumerate(sees)]
    async with asyncio.TaskGroup() as group:
        for follower, (_who, projects) in zip(followers, sees, strict=True):
            group.create_task(follower.wander(town, *(last[project] for project in projects)))
        for follower in followers:
            await follower.begun.wait()
        async with trouble(town, pool, 7):
            written, rounds = 0, 0
            while written < EVENTS:
                rounds += 1
                writing = (
                    write(pool, rounds * 100 + n, people, transactions=TRANSACTIONS, longest=0.002) for n in range(WRITERS)
                )
                await asyncio.gather(*writing)
                written = await pool.fetchval("SELECT count(*) FROM change_log WHERE seq > $1", since)
        for project, by in {project: by for by, projects in people for project in projects}.items():
            await open_question(pool, by, project, question_id=last[project])
    for task in keeping:
        task.cancel()
    await asyncio.gather(*keeping, return_exceptions=True)
    for follower, (_who, projects) in zip(followers, sees, strict=True):
        expected = await history(pool, projects, since)
        assert by_entity(follower.changes) == by_entity(expected)
        assert len(follower.changes) == len(expected)
        assert follower.resets == 0
    told = sum(len(follower.changes) for follower in followers)
    returns = sum(follower.returns for follower in followers)
    sys.stderr.write(f"{feed}: {written} events, {told} deliveries, {returns} returns, {town.restarts} restarts\n")
    assert town.restarts > 3
