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
from collections.abc import Sequence
from contextlib import AsyncExitStack
from pathlib import Path
from time import monotonic
from urllib.parse import urlsplit
from uuid import UUID, uuid4

import uvloop
from tests.bench import machine
from tests.bench.crowd_scene import (
    BATCHES,
    CHANGE,
    CROWDED,
    EACH,
    LATE_ROUNDS,
    MARK,
    RATES,
    ROUNDS,
    SELDOM,
    SERVICES,
    Scene,
    scene,
    townsfolk,
)
from tests.bench.report import Measure, Report, percentile
from tests.bench.wire import request_of

from askbus.access.model import Scope
from askbus.db.pool import Connection, open_pool
from askbus.feed.model import Change, Snapshot
from askbus.questions import verbs
from askbus.testing.people import Person, give_token
from askbus.testing.questions import answer_command, open_question
from askbus_gateway.sse.stream import Batch

SOURCE = Path(__file__).with_name("crowd.c")


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
