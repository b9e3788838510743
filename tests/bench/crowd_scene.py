"""What the crowd is measured on: the stack, the clients, the floor, and changes written for them."""

import asyncio
import random
import tempfile
from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from time import monotonic
from urllib.parse import urlsplit
from uuid import UUID, uuid4

from tests.bench.crowd_program import Crowd, crowd
from tests.bench.meter import Meter
from tests.bench.wire import request_of

from askbus.access import verbs as access
from askbus.access.model import Role
from askbus.bus.envelope import Service
from askbus.db.pool import Pool, open_pool
from askbus.stack.options import Options, ServiceSpec
from askbus.stack.supervisor import Stack
from askbus.testing.people import Company, Person, found_company, hire

HEAD = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n\r\nevent: state\ndata: {}\n\n"
EACH = 10
"""Streams of one person, who sees one project."""
CHANGE = """
    INSERT INTO change_log (fact, entity, entity_id, status, workspace_id, project_id, collection, key)
    VALUES ('record.updated', 'record', $1, 'updated', $2, $3, 'orders', '{"id": "7"}')"""
"""As the trigger of an attached table writes it: nothing but the feed has anything to do with it."""
MARK = '"entity":"record","id":"'
PLAIN = "INSERT INTO crowd_rows VALUES ($1)"
RATES = (50, 200, 1000)
"""Commits a second, by WRITERS connections, for SECONDS."""
WRITERS, SECONDS = 4, 8
BATCHES, ROUNDS, LATE_ROUNDS = 12, 10, 20
CROWDED = 16
"""Connections that write as fast as they can."""
SELDOM = 0.001
"""Seconds between two looks of the clients while CPU is measured: so writing to them wakes no process on this machine, neither for the
gateway nor for the floor, as it would not if they were elsewhere."""
SERVICES = (Service.GATEWAY, Service.QUESTION_BROKER)


@dataclass
class Told:
    """Seconds from sending COMMIT, and from its answer, to each arrival; and from sending it to its answer."""

    sent: list[float] = field(default_factory=list)
    answered: list[float] = field(default_factory=list)
    commits: list[float] = field(default_factory=list)


@dataclass
class Scene:
    """What runs: the stack, the clients, the floor and its clients."""

    stack: Stack
    db: Pool
    company: Company
    clients: Crowd
    floor: Crowd
    listeners: Crowd
    meter: Meter

    @property
    def port(self) -> int:
        return urlsplit(self.stack.http_url).port or 80

    def watching(self, person: Person) -> bytes:
        return request_of("GET", "/v1/events", {"cookie": f"askbus_session_{self.port}={person.cookie}"})

    def pss(self, name: str) -> float:
        """KiB."""
        return self.meter.memory()[name][1] * 1024

    def change(self, project: UUID | None) -> tuple[str, UUID, UUID, UUID | None]:
        """The statement and its arguments. None: everybody is told."""
        return CHANGE, uuid4(), self.company.workspace_id, project

    async def at_rate(self, projects: Sequence[UUID], rate: int) -> Told:
        """So many changes a second, each in a transaction of its own and told to the streams of one person."""
        count = rate * SECONDS
        heard = asyncio.ensure_future(self.clients.named(count * EACH))
        moments: dict[str, tuple[float, float]] = {}
        start, chosen = monotonic(), random.Random(rate)

        async def write(numbers: range) -> None:
            async with self.db.acquire() as db:
                for number in numbers:
                    await asyncio.sleep(max(start + number / rate - monotonic(), 0))
                    statement, change_id, *rest = self.change(chosen.choice(projects))
                    transaction = db.transaction()
                    await transaction.start()
                    await db.execute(statement, change_id, *rest)
                    sent = monotonic()
                    await transaction.commit()
                    moments[str(change_id)] = (sent, monotonic())

        await asyncio.gather(*(write(range(writer, count, WRITERS)) for writer in range(WRITERS)))
        told = Told(commits=[answered - sent for sent, answered in moments.values()])
        for change_id, at in await heard:
            told.sent.append(at - moments[change_id][0])
            told.answered.append(at - moments[change_id][1])
        return told

    async def to_all(self, count: int, rounds: int, *, every: float = 0) -> list[float]:
        """Changes that everybody is told of, one after the other: seconds from sending COMMIT to each arrival."""
        arrivals = []
        for _ in range(rounds):
            heard = asyncio.ensure_future(self.clients.expect(count, every=every))
            sent = monotonic()
            await self.db.execute(*self.change(None))
            arrivals += [at - sent for at in await heard]
        return arrivals

    async def floor_to_all(self, count: int, rounds: int, event: bytes, *, every: float = 0) -> list[float]:
        arrivals = []
        for _ in range(rounds):
            heard = asyncio.ensure_future(self.listeners.expect(count, every=every))
            sent = monotonic()
            await self.floor.say("send", 1, len(event), data=event)
            arrivals += [at - sent for at in await heard]
        return arrivals


@asynccontextmanager
async def scene(binary: str) -> AsyncIterator[Scene]:
    async with AsyncExitStack() as opened:
        folder = Path(opened.enter_context(tempfile.TemporaryDirectory(prefix="askbus-crowd-")))
        options = Options(data=folder, services=tuple(map(ServiceSpec, SERVICES)), env={"ASKBUS_TRACE_RATIO": "0.05"})
        stack = await opened.enter_async_context(Stack(options))
        db = await opened.enter_async_context(open_pool(stack.database_url, size=WRITERS, name="crowd"))
        clients = await opened.enter_async_context(crowd(binary, "watch"))
        floor = await opened.enter_async_context(crowd(binary, "serve"))
        listeners = await opened.enter_async_context(crowd(binary, "watch"))
        await floor.say("head", len(HEAD), data=HEAD)
        pids = {name: service.pid for name, service in stack.services.items()}
        pids |= {"nats": stack.nats.pid, "floor": floor.process.pid, "clients": clients.process.pid}
        yield Scene(stack, db, await found_company(db), clients, floor, listeners, Meter(pids))


async def townsfolk(on: Scene, count: int) -> tuple[list[UUID], list[Person]]:
    """So many people, each in a project of their own."""
    projects, people = [], []
    async with on.db.acquire() as db:
        for number in range(count):
            project = await access.create_project(db, on.company.workspace_id, f"project {number}")
            projects.append(project)
            people.append(await hire(db, on.company.workspace_id, f"person {number}", Role.MEMBER, projects=(project,)))
    return projects, people
