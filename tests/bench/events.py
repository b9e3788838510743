"""From the COMMIT of a question's answer to the bytes at a client, over many streams; and the same for the floor."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from time import monotonic
from uuid import UUID

from tests.bench.meter import Meter
from tests.bench.notify_floor import CHANNEL
from tests.bench.program import Program

from askbus.access.model import Principal
from askbus.db.pool import Connection, Pool
from askbus.questions import verbs
from askbus.testing.questions import answer_command, open_question

FLOOR_TABLE = "CREATE TABLE public.bench_floor (at timestamptz NOT NULL DEFAULT now(), status text NOT NULL)"

Write = Callable[[Connection], Awaitable[None]]


@dataclass(frozen=True)
class Round:
    """One measured commit, and one `before` it that makes it possible and that everybody hears of too."""

    measured: Write
    before: Write | None = None


@dataclass(frozen=True)
class Server:
    """What tells the streams: its port, its name at the meter, and the database in which something is committed."""

    name: str
    port: int
    pool: Pool
    meter: Meter


@dataclass(frozen=True)
class Audience:
    """The streams: how many of each request. `hears` of them are told of each commit."""

    groups: Sequence[tuple[int, str]]
    hears: int

    @property
    def streams(self) -> int:
        return sum(count for count, _request in self.groups)


@dataclass(frozen=True)
class Deliveries:
    """Seconds from sending COMMIT: to each arrival, and to the commit's own reply. `cpu` is what the server spent on all `events`, in
    seconds; `memory` what it grew by for the streams, in MiB (PSS)."""

    arrivals: list[float]
    commits: list[float]
    events: int
    cpu: float
    memory: float


async def deliver(server: Server, watchers: Program, audience: Audience, rounds: Sequence[Round]) -> Deliveries:
    """Opens the streams, then commits one write after the other, each when the one before has reached everybody."""
    before = server.meter.memory()[server.name][1]
    for count, request in audience.groups:
        await watchers.ask({"open": count, "port": server.port, "request": request})
    memory = server.meter.memory()[server.name][1] - before
    arrivals: list[float] = []
    commits: list[float] = []
    began = server.meter.read()

    async def told(db: Connection, write: Write) -> tuple[float, float, list[float]]:
        heard = asyncio.create_task(watchers.ask({"expect": audience.hears}))
        sent, committed = await _commit(db, write)
        return sent, committed, await heard

    async with server.pool.acquire() as db:
        for one in rounds:
            if one.before is not None:
                await told(db, one.before)
            sent, committed, at = await told(db, one.measured)
            arrivals += [moment - sent for moment in at]
            commits.append(committed - sent)
    cpu = server.meter.read().since(began).processes[server.name]
    await watchers.ask({"close": True})
    return Deliveries(arrivals, commits, sum(1 if one.before is None else 2 for one in rounds), cpu, memory)


async def _commit(db: Connection, write: Write) -> tuple[float, float]:
    """The moments before COMMIT was sent and after its reply was read."""
    transaction = db.transaction()
    await transaction.start()
    await write(db)
    sent = monotonic()
    await transaction.commit()
    return sent, monotonic()


def answers(by: Principal, project_id: UUID, count: int) -> list[Round]:
    """Rounds in which a question is asked, and then answered."""

    def one() -> Round:
        asked: list[UUID] = []

        async def ask(db: Connection) -> None:
            asked.append((await open_question(db, by, project_id)).id)

        async def answer(db: Connection) -> None:
            await verbs.answer(db, answer_command(by, asked[0]), trace=None)

        return Round(answer, before=ask)

    return [one() for _ in range(count)]


def notifications(count: int) -> list[Round]:
    """The floor's rounds: an insert and a NOTIFY."""

    async def notify(db: Connection) -> None:
        await db.execute("INSERT INTO public.bench_floor (status) VALUES ('answered')")
        await db.execute(f"NOTIFY {CHANNEL}")

    return [Round(notify) for _ in range(count)]
