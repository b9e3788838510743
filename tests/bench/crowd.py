"""`python -m tests.bench.crowd`: ten thousand streams on one gateway, and as many agents that wait, over HTTP and on the bus.

The clients and the floor are one C program (crowd.c), so that neither is what is measured; without a compiler it says so and ends. It
asserts nothing about time. docs/performance.md explains the lines.
"""

import argparse
import asyncio
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
from uuid import UUID

import uvloop
from tests.bench import machine
from tests.bench.crowd_program import Crowd, crowd
from tests.bench.meter import Meter
from tests.bench.report import Measure, Report, percentile
from tests.bench.wire import request_of

from askbus.access.model import Scope
from askbus.bus.envelope import Service
from askbus.db.pool import Pool, open_pool
from askbus.questions import verbs
from askbus.stack.options import Options, ServiceSpec
from askbus.stack.supervisor import Stack
from askbus.testing.people import Company, Person, found_company, give_token
from askbus.testing.questions import answer_command, open_question

SOURCE = Path(__file__).with_name("crowd.c")
HEAD = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n\r\nevent: state\ndata: {}\n\n"
EVENT = (
    b'id: 1.1000:1000:\nevent: changes\ndata: [{"entity":"question","id":"%s","op":"upsert","status":"open","project":"%s"}]\n\n'
)
FRAME = EVENT % (b"0" * 36, b"0" * 36)
ROUNDS, FEW_ROUNDS = 20, 200
FEW = 10
UNHURRIED = 0.02
"""Seconds between two commits that keep them below the rate at which writers stop nudging and the feed polls every 3 ms."""
SERVICES = (Service.GATEWAY, Service.QUESTION_BROKER)


@dataclass
class Told:
    """Seconds from sending COMMIT to each arrival, and what the server spent on all of it."""

    arrivals: list[float] = field(default_factory=list)
    commits: list[float] = field(default_factory=list)
    """Until the writer itself had its answer."""
    cpu: float = 0.0


@dataclass
class Scene:
    """What runs: the stack, the clients, the floor."""

    stack: Stack
    db: Pool
    company: Company
    clients: Crowd
    floor: Crowd
    meter: Meter

    @property
    def port(self) -> int:
        return urlsplit(self.stack.http_url).port or 80

    def watching(self, person: Person) -> bytes:
        return request_of("GET", "/v1/events", {"cookie": f"askbus_session_{self.port}={person.cookie}"})

    def pss(self, name: str) -> float:
        """KiB."""
        return self.meter.memory()[name][1] * 1024

    async def commits(self, name: str, by: Person, project: UUID, rounds: int, hear: int, *, pause: float = 0) -> Told:
        """Questions, one after the other, each when everybody has heard of the one before, `pause` seconds later."""
        told, began = Told(), self.meter.read()
        for _ in range(rounds):
            await asyncio.sleep(pause)
            heard = asyncio.ensure_future(self.clients.expect(hear))
            async with self.db.acquire() as db:
                transaction = db.transaction()
                await transaction.start()
                await open_question(db, by.principal, project)
                sent = monotonic()
                await transaction.commit()
                told.commits.append(monotonic() - sent)
            told.arrivals += [at - sent for at in await heard]
        told.cpu = self.meter.read().since(began).processes[name]
        return told


@asynccontextmanager
async def scene(binary: str) -> AsyncIterator[Scene]:
    async with AsyncExitStack() as opened:
        folder = Path(opened.enter_context(tempfile.TemporaryDirectory(prefix="askbus-crowd-")))
        options = Options(data=folder, services=tuple(map(ServiceSpec, SERVICES)), env={"ASKBUS_TRACE_RATIO": "0.05"})
        stack = await opened.enter_async_context(Stack(options))
        db = await opened.enter_async_context(open_pool(stack.database_url, size=4, name="crowd"))
        clients = await opened.enter_async_context(crowd(binary, "watch"))
        floor = await opened.enter_async_context(crowd(binary, "serve"))
        await floor.say("head", len(HEAD), data=HEAD)
        pids = {name: service.pid for name, service in stack.services.items()}
        pids |= {"nats": stack.nats.pid, "floor": floor.process.pid, "clients": clients.process.pid}
        yield Scene(stack, db, await found_company(db), clients, floor, Meter(pids))


async def streams(on: Scene, count: int) -> list[Measure]:
    """To all, and to a few of them."""
    mia, admin = on.company["mia"], on.company["admin"]
    marks = {"ready": "event: state", "event": "event: changes"}
    before, floor_before = on.pss("gateway"), on.pss("floor")
    await on.clients.open(count - FEW, on.port, on.watching(mia), **marks)
    await on.clients.open(FEW, on.port, on.watching(admin), **marks)
    memory = (on.pss("gateway") - before) / count
    few = await on.commits("gateway", admin, on.company.south, FEW_ROUNDS, FEW, pause=UNHURRIED)
    hurried = await on.commits("gateway", admin, on.company.south, FEW_ROUNDS, FEW)
    everyone = await on.commits("gateway", admin, on.company.north, ROUNDS, count)
    await on.clients.say("close")
    await on.clients.open(count, on.floor.port, b"GET / HTTP/1.1\r\n\r\n", **marks)
    floor_memory = (on.pss("floor") - floor_before) / count
    floor = Told()
    began = on.meter.read()
    for _ in range(ROUNDS):
        sent = monotonic()
        heard = asyncio.ensure_future(on.clients.expect(count))
        await on.floor.say("send", 1, len(FRAME), data=FRAME)
        floor.arrivals += [at - sent for at in await heard]
    floor.cpu = on.meter.read().since(began).processes["floor"]
    await on.clients.say("close")
    ours, theirs = ROUNDS * count / everyone.cpu, ROUNDS * count / floor.cpu
    return [
        Measure(f"memory a stream, {count} of them", "KiB", memory, floor_memory, most=12),
        Measure("deliveries a CPU second, to all", "1/s", ours, theirs, also="target ≥ 0.7 of the floor"),
        *_percentiles(f"COMMIT to SSE, to {FEW} of {count}; floor: COMMIT", few.arrivals, (1, 6), few.commits),
        *_percentiles(f"the same, the next commit at once, to {FEW} of {count}", hurried.arrivals, floor=hurried.commits),
        *_percentiles(f"COMMIT to SSE, to all {count}", everyone.arrivals, floor=floor.arrivals),
    ]


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
        *_percentiles(f"answer to {count} agents {where}", arrivals),
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
    return [
        Measure(
            f"{what}, p{percent}", "ms", 1000 * percentile(arrivals, percent),
            1000 * percentile(floor, percent) if floor else None, most=None if most is None else most[index],
        )
        for index, percent in enumerate((50, 99))
    ]  # fmt: skip


async def bench(count: int, binary: str, *, waits: bool) -> Report:
    report = Report(machine.facts())
    async with scene(binary) as on:
        report.sections["streams on one gateway"] = await streams(on, count)
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
