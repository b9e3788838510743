"""The law of the feed: whoever follows, however often they come back and wherever, has seen just what the database did.

Writers commit in any order, hold transactions open over each other's commits and roll some back; clients leave at any event, with
and without a word, and come back to either gateway with their last id.
"""

import asyncio
import random
from collections import defaultdict
from dataclasses import dataclass, field
from uuid import UUID

import pytest
from tests.events.conftest import Gateways

from askbus.access import verbs as access
from askbus.access.model import Principal
from askbus.db.ids import new_id
from askbus.db.pool import Pool
from askbus.db.statements import Executor
from askbus.errors import AskbusError
from askbus.questions import verbs
from askbus.testing.composed import Composed
from askbus.testing.events import EventClient, StreamEnded, connect
from askbus.testing.people import Agent, Company, Person, give_token
from askbus.testing.questions import answer_command, ask_back_command, ask_command, cancel_command, open_question

WRITERS, TRANSACTIONS = 5, 20
SEEDS = (1, 2, 3)

pytestmark = pytest.mark.requirement("S2", "S4", "S5")


@dataclass
class Follower:
    """A client that keeps what it was told: each change in order, and what it would show now."""

    who: Person | Agent
    seed: int
    changes: list[tuple[str, str]] = field(default_factory=list)
    shown: dict[str, str] = field(default_factory=dict)
    returns: int = 0
    resets: int = 0
    begun: asyncio.Event = field(default_factory=asyncio.Event)

    async def follow(self, running: Composed, *until: UUID) -> None:
        """Until it has been shown all of these."""
        dice = random.Random(self.seed)
        awaited, last_id = set(map(str, until)), None
        while not awaited <= self.shown.keys():
            client = await connect(running.url(dice.randrange(2)), self.who, after=last_id)
            try:
                await client.begin()
                await self._read(client, awaited, dice.randint(1, 12))
            except StreamEnded:
                pass
            finally:
                last_id = client.last_id or last_id
                if dice.random() < 0.5:
                    client.reset()
                await client.close()
            self.returns += 1

    async def _read(self, client: EventClient, awaited: set[str], most: int) -> None:
        for _ in range(most):
            event = await client.next(within=20)
            if event.name == "reset":
                self.resets += 1
            elif event.name == "state":
                self.shown = {entity["id"]: entity["status"] for entity in event.data["entities"]}
                self.begun.set()
            else:
                self.changes += [(change["id"], change["status"]) for change in event.data]
                self.shown |= {change["id"]: change["status"] for change in event.data}
            if awaited <= self.shown.keys():
                return


async def write(
    pool: Pool, seed: int, people: list[tuple[Principal, list[UUID]]], *, transactions: int = TRANSACTIONS, longest: float = 0.02
) -> None:
    """Random transactions of random length; some are taken back. `longest`: seconds between two of their statements."""
    dice = random.Random(seed)
    questions: list[tuple[Principal, UUID]] = []
    for _ in range(transactions):
        by, projects = dice.choice(people)
        async with pool.acquire() as db:
            transaction = db.transaction()
            await transaction.start()
            made: list[tuple[Principal, UUID]] = []
            for _ in range(dice.randint(1, 3)):
                await db.execute("SELECT pg_sleep($1)", dice.random() * longest)
                if not questions or dice.random() < 0.5:
                    command = ask_command(by, dice.choice(projects))
                    await verbs.ask(db, command, trace=None)
                    made.append((by, command.question_id))
                    continue
                asker, question_id = dice.choice(questions)
                act = dice.choice([answer, ask_back, cancel])
                try:
                    await act(db, asker, question_id)
                except AskbusError:
                    continue
            if dice.random() < 0.2:
                await transaction.rollback()
            else:
                await transaction.commit()
                questions += made


async def answer(db: Executor, by: Principal, question_id: UUID) -> None:
    await verbs.answer(db, answer_command(by, question_id), trace=None)


async def ask_back(db: Executor, by: Principal, question_id: UUID) -> None:
    await verbs.ask_back(db, ask_back_command(by, question_id), trace=None)


async def cancel(db: Executor, by: Principal, question_id: UUID) -> None:
    await verbs.cancel(db, cancel_command(by, question_id), trace=None)


async def history(pool: Pool, projects: list[UUID], since: int) -> list[tuple[str, str]]:
    """What the database did in these projects, in the order in which each entity came to it."""
    rows = await pool.fetch(
        "SELECT entity_id, status FROM change_log WHERE entity = 'question' AND project_id = ANY ($1) AND seq > $2 ORDER BY seq",
        projects,
        since,
    )
    return [(str(row["entity_id"]), row["status"]) for row in rows]


def by_entity(changes: list[tuple[str, str]]) -> dict[str, list[str]]:
    found: defaultdict[str, list[str]] = defaultdict(list)
    for entity, status in changes:
        found[entity].append(status)
    return dict(found)


@pytest.mark.requirement("S10")
@pytest.mark.parametrize(("seed", "feed"), [(1, "listen"), (2, "bus"), (3, "listen")], indirect=["feed"])
async def test_every_client_has_seen_just_what_happened(seed: int, gateways: Gateways, company: Company, pool: Pool) -> None:
    """Each change once, per entity in order, nothing foreign, and no reset."""
    owner, mia, stranger = (company[name].principal for name in ("owner", "mia", "stranger"))
    people = [(owner, [company.north, company.south]), (mia, [company.north]), (stranger, [company.elsewhere])]
    sees: list[tuple[Person | Agent, list[UUID]]] = [
        (company["owner"], [company.north, company.south]),
        (company["max"], [company.north]),
        (company["viewer"], [company.north]),
        (company["stranger"], [company.elsewhere]),
        (await give_token(pool, company["mia"]), [company.north]),
        (await give_token(pool, company["owner"], projects=(company.south,)), [company.south]),
    ]
    last = {project: new_id() for _by, projects in people for project in projects}
    since = await pool.fetchval("SELECT coalesce(max(seq), 0) FROM change_log")
    async with gateways(2) as running, asyncio.TaskGroup() as group:
        followers = [Follower(who, seed * 100 + number) for number, (who, _projects) in enumerate(sees)]
        for follower, (_who, projects) in zip(followers, sees, strict=True):
            group.create_task(follower.follow(running, *(last[project] for project in projects)))
        for follower in followers:
            await follower.begun.wait()
        await asyncio.gather(*(write(pool, seed * 1000 + number, people) for number in range(WRITERS)))
        for project, by in {project: by for by, projects in people for project in projects}.items():
            await open_question(pool, by, project, question_id=last[project])
    for follower, (_who, projects) in zip(followers, sees, strict=True):
        expected = await history(pool, projects, since)
        assert len(follower.changes) == len(expected) > 5
        assert by_entity(follower.changes) == by_entity(expected)
        assert follower.resets == 0
        assert follower.returns > 1


@pytest.mark.requirement("S2", "S3", "I3")
@pytest.mark.parametrize("seed", SEEDS)
async def test_an_old_state_and_the_changes_make_the_new_state(
    seed: int, gateways: Gateways, company: Company, pool: Pool
) -> None:
    """For members who are removed and let in again at random meanwhile: in the end they are shown what is open, and no more."""
    mia, max_, viewer = company["mia"].principal, company["max"], company["viewer"]
    people = [(company["owner"].principal, [company.south]), (mia, [company.north])]
    last = new_id()
    async with gateways(2) as running, asyncio.TaskGroup() as group:
        followers = [Follower(who, seed * 100 + number) for number, who in enumerate((max_, viewer))]
        for follower in followers:
            group.create_task(follower.follow(running, last))
            await follower.begun.wait()
        writing = asyncio.gather(*(write(pool, seed * 1000 + number, people) for number in range(WRITERS)))
        dice = random.Random(seed)
        while not writing.done():
            who = dice.choice([max_, viewer])
            await access.remove_from_project(pool, company.workspace_id, company.north, who.id)
            await pool.execute("SELECT pg_sleep($1)", dice.random() * 0.1)
            await access.add_to_project(pool, company.workspace_id, company.north, who.id)
        await writing
        await open_question(pool, mia, company.north, question_id=last)
    rows = await pool.fetch("SELECT id, project_id FROM questions WHERE state = 'open'")
    for follower in followers:
        still_open = {question_id for question_id, status in follower.shown.items() if status == "open"}
        assert still_open == {str(row["id"]) for row in rows if row["project_id"] == company.north}
        assert follower.resets > 0
        south = await pool.fetch("SELECT id FROM questions WHERE project_id = $1", company.south)
        assert not {str(row["id"]) for row in south} & {entity for entity, _status in follower.changes}
