"""`python -m tests.bench.crowd`: ten thousand streams on one gateway, and as many agents that wait, over HTTP and on the bus.

The clients and the floor are one C program (crowd.c), so that neither is what is measured; without a compiler it says so and ends. It
asserts nothing about time. docs/performance.md explains the lines.
"""

import argparse
import asyncio
import random
import resource
import shutil
import sys
import tempfile
from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from time import monotonic
from urllib.parse import urlsplit
from uuid import UUID, uuid4

import uvloop
from tests.bench import machine
from tests.bench.crowd_program import Crowd, crowd
from tests.bench.meter import Meter
from tests.bench.report import Measure, Report, percentile
from tests.bench.wire import request_of

from askbus.access import verbs as access
from askbus.access.model import Role, Scope
from askbus.bus.envelope import Service
from askbus.db.pool import Connection, Pool, open_pool
from askbus.feed.model import Change, Snapshot
from askbus.questions import verbs
from askbus.stack.options import Options, ServiceSpec
from askbus.stack.supervisor import Stack
from askbus.testing.people import Company, Person, found_company, give_token, hire
from askbus.testing.questions import answer_command, open_question
from askbus_gateway.sse.stream import Batch

SOURCE = Path(__file__).with_name("crowd.c")
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


async def streams(on: Scene, count: int) -> list[Measure]:
    """To the ten of one person, at several rates, and to all."""
    projects, people = await townsfolk(on, count // EACH)
    before, floor_before = on.pss("gateway"), on.pss("floor")
    for person in people:
        await on.clients.open(EACH, on.port, on.watching(person), ready="event: state", event=MARK)
    memory = (on.pss("gateway") - before) / count
    measures = []
    for rate in RATES:
        told = await on.at_rate(projects, rate)
        what = f"{rate} a second, to {EACH} of {count}, p{{}}"
        measures += _percentiles(f"COMMIT's answer to SSE, {what}", told.answered, (1, 6))
        measures += _percentiles(f"COMMIT to SSE, {what}; floor: COMMIT", told.sent, floor=told.commits)
    change = Change(
        1000, 1000, "record.updated", "record", uuid4(), "updated", uuid4(), None, collection="orders", key={"id": "7"}
    )
    event = Batch(Snapshot(1000, 1000, frozenset()), [change]).event("1", [change])
    await on.listeners.open(count, on.floor.port, b"GET / HTTP/1.1\r\n\r\n", ready="event: state", event=MARK)
    floor_memory = (on.pss("floor") - floor_before) / count
    ours = theirs = 0.0
    for _ in range(BATCHES):  # in turns, since what the machine has to spare changes
        began = on.meter.read()
        await on.to_all(count, ROUNDS, every=SELDOM)
        between = on.meter.read()
        await on.floor_to_all(count, ROUNDS, event, every=SELDOM)
        ended = on.meter.read()
        ours += between.since(began).processes["gateway"]
        theirs += ended.since(between).processes["floor"]
    deliveries = BATCHES * ROUNDS * count
    arrivals, floor = await on.to_all(count, LATE_ROUNDS), await on.floor_to_all(count, LATE_ROUNDS, event)
    await on.clients.say("close")
    await on.listeners.say("close")
    return [
        Measure(f"memory a stream, {count} of them", "KiB", memory, floor_memory, most=12),
        Measure(
            "deliveries a CPU second, to all", "1/s", deliveries / ours, deliveries / theirs, also="target ≥ 0.7 of the floor"
        ),
        *measures,
        *_percentiles(f"COMMIT to SSE, to all {count}, p{{}}", arrivals, floor=floor),
    ]


async def writers(on: Scene) -> list[Measure]:
    """Connections that commit one row after the other, with the log and without; the gateway follows."""
    async with AsyncExitStack() as opened:
        pool = await opened.enter_async_context(open_pool(on.stack.database_url, size=CROWDED, name="writers"))
        await pool.execute("CREATE TABLE crowd_rows (id uuid PRIMARY KEY)")
        connections = [await opened.enter_async_context(pool.acquire()) for _ in range(CROWDED)]
        logged, plain = 0.0, 0.0
        for _ in range(BATCHES):  # the first of them also switches the nudge off
            logged += await _commits(
                connections, f"WITH r AS (INSERT INTO crowd_rows VALUES ($1)) {CHANGE}", on.change(on.company.south)[2:]
            )
            plain += await _commits(connections, "INSERT INTO crowd_rows VALUES ($1)", ())
        nudged = await on.db.fetchval("SELECT nudged FROM feed")
    also = f"target ≥ 0.75 of the floor, a row without the log; nudge {'on' if nudged else 'off'} at the end"
    return [Measure(f"commits a second of {CROWDED} writers", "1/s", logged / BATCHES, plain / BATCHES, also=also)]


async def _commits(connections: Sequence[Connection], statement: str, arguments: tuple[object, ...]) -> float:
    """So many a second."""
    began, done = monotonic(), 0

    async def write(db: Connection) -> None:
        nonlocal done
        while monotonic() - began < 1:
            await db.execute(statement, uuid4(), *arguments)
            done += 1

    await asyncio.gather(*map(write, connections))
    return done / (monotonic() - began)


async def over_http(on: Scene, count: int) -> list[Measure]:
    """Agents in `GET /v1/questions/{id}?wait=`, all for one question; the last of them hears when all have been told."""
    mia = on.company["mia"]
    token = await give_token(on.db, mia, (Scope.QUESTIONS_ASK,))
    question = await open_question(on.db, mia.principal, on.company.north)
    before = on.pss("gateway")
    request = request_of("GET", f"/v1/questions/{question.id}?wait=600", {"authorization": f"Bearer {token.token}"})
    await on.clients.open(count, on.port, request, ready="", event="HTTP/1.1 200")
    await _calm(on, "gateway")
    measures = await _answered(on, count, [question.id], "gateway", before, "over HTTP")
    ids = await many_open(on, mia, count)
    for each in ids:
        request = request_of("GET", f"/v1/questions/{each}?wait=600", {"authorization": f"Bearer {token.token}"})
        await on.clients.open(1, on.port, request, ready="", event="HTTP/1.1 200")
    await _calm(on, "gateway")
    return measures + await _answered(on, count, ids, "gateway", before, "over HTTP, each for a question of its own")


async def on_the_bus(on: Scene, count: int) -> list[Measure]:
    """Agents with a connection of their own to NATS, that are told on `told.<p>.<id>`: no process of askbus holds anything for them."""
    mia = on.company["mia"]
    token = await give_token(on.db, mia, (Scope.QUESTIONS_ASK,))
    before = on.pss("nats")
    said = f'CONNECT {{"auth_token":"{token.token}","verbose":false,"pedantic":false,"lang":"c","version":"0","protocol":0}}\r\n'
    request = f"{said}SUB told.{token.id}.> 1\r\nPING\r\n".encode()
    port = urlsplit(on.stack.nats.url).port or 4222
    await on.clients.open(count, port, request, ready="PONG", event="MSG told.")
    question = await open_question(on.db, token.principal, on.company.north)
    return await _answered(on, count, [question.id], "nats", before, "on the bus")


async def many_open(on: Scene, by: Person, count: int) -> list[UUID]:
    """So many questions, asked in one transaction."""
    async with on.db.acquire() as db, db.transaction():
        return [(await open_question(db, by.principal, on.company.north)).id for _ in range(count)]


async def _answered(on: Scene, count: int, ids: Sequence[UUID], name: str, before: float, where: str) -> list[Measure]:
    """All of them are answered in one transaction. What it takes to write that is left out: it counts from the COMMIT."""
    memory = (on.pss(name) - before) / count
    async with on.db.acquire() as db:
        transaction = db.transaction()
        await transaction.start()
        for question_id in ids:
            await verbs.answer(db, answer_command(on.company["max"].principal, question_id), trace=None)
        heard = asyncio.ensure_future(on.clients.expect(count))
        sent = monotonic()
        began = on.meter.read()
        await transaction.commit()
    arrivals = [at - sent for at in await heard]
    spent = on.meter.read().since(began).processes
    await on.clients.say("close")
    cpu = sum(spent[service.value] for service in SERVICES) + (spent["nats"] if name == "nats" else 0)
    return [
        Measure(f"memory a waiting agent {where}, {count} of them", "KiB", memory, also=f"in {name}"),
        Measure(
            f"CPU a waiting agent {where} that is told", "µs", 1e6 * cpu / max(len(arrivals), 1), also=f"{len(arrivals)} told"
        ),
        *_percentiles(f"answer to {count} agents {where}, p{{}}", arrivals),
    ]


async def _calm(on: Scene, name: str) -> None:
    """Until the process has done what it was asked."""
    while True:
        began = on.meter.read()
        await asyncio.sleep(1)
        if on.meter.read().since(began).processes[name] < 0.1:
            return


def _percentiles(
    what: str, arrivals: Sequence[float], most: tuple[float, float] | None = None, floor: Sequence[float] = ()
) -> list[Measure]:
    """`what` has a place for the percentile."""
    return [
        Measure(
            what.format(percent), "ms", 1000 * percentile(arrivals, percent),
            1000 * percentile(floor, percent) if floor else None, most=None if most is None else most[index],
        )
        for index, percent in enumerate((50, 99))
    ]  # fmt: skip


async def bench(count: int, binary: str, *, waits: bool) -> Report:
    report = Report(machine.facts())
    async with scene(binary) as on:
        report.sections["streams on one gateway"] = [*await streams(on, count), *await writers(on)]
        if waits:
            report.sections["agents that wait"] = [*await over_http(on, count), *await on_the_bus(on, count)]
    return report


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(prog="python -m tests.bench.crowd", description="Ten thousand streams, and as many waits.")
    parser.add_argument("--count", type=int, default=10_000, help="how many of each (%(default)s)")
    parser.add_argument("--streams-only", action="store_true", help="without the agents that wait")
    options = parser.parse_args()
    compiler = shutil.which("cc") or shutil.which("gcc")
    if compiler is None:
        sys.exit("There is no C compiler (cc): without one the clients would be the bottleneck, and there is no floor.")
    _soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))  # the services inherit it
    if hard < options.count + 500:
        sys.exit(f"{hard} open files are allowed here (ulimit -Hn): that is too few for {options.count} connections.")
    with tempfile.TemporaryDirectory(prefix="askbus-crowd-") as folder:
        binary = f"{folder}/crowd"
        build = uvloop.run(_compile(compiler, binary))
        if build:
            sys.exit(f"{SOURCE.name} could not be compiled:\n{build}")
        sys.stdout.write(f"{uvloop.run(bench(options.count, binary, waits=not options.streams_only)).as_text()}\n")


async def _compile(compiler: str, binary: str) -> str:
    process = await asyncio.create_subprocess_exec(compiler, "-O2", "-o", binary, str(SOURCE), stderr=asyncio.subprocess.PIPE)
    _out, said = await process.communicate()
    return said.decode() if process.returncode else ""


if __name__ == "__main__":
    main()
