"""An action-applier that is killed at a statement and started anew, over real Postgres and NATS, and the stories that it is killed in."""

import asyncio
import os
import signal
import sys
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from typing import NamedTuple
from uuid import UUID, uuid4

from nats.aio.client import Client

from askbus.actions import verbs
from askbus.actions.model import ConfirmAction, Proposal, ProposeChanges, UndoAction
from askbus.bus import subjects
from askbus.bus.envelope import Service
from askbus.db.pool import Pool
from askbus.records.changes import Operation
from askbus.records.engine import Records
from askbus.records.propose import prepare
from askbus.testing.people import Company
from askbus.testing.postgres_proxy import Heard, Moment, PostgresProxy
from askbus.testing.records import TeamDatabase
from askbus.testing.servers import TestDatabase
from askbus.testing.waiting import until

NURSERY = Path(__file__).with_name("nursery.py")

BOOKED = """
CREATE TABLE bookings (id int PRIMARY KEY, note text, changed int NOT NULL DEFAULT 0);
CREATE TABLE guests (id int GENERATED ALWAYS AS IDENTITY PRIMARY KEY, booking_id int REFERENCES bookings, name text NOT NULL);
INSERT INTO bookings VALUES (1, 'first', 0);
CREATE FUNCTION count_changes() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
    IF NEW.note LIKE 'never%' THEN RAISE EXCEPTION 'never'; END IF;
    NEW.changed := OLD.changed + 1;
    RETURN NEW;
END $$;
CREATE TRIGGER count_changes BEFORE UPDATE ON bookings FOR EACH ROW EXECUTE FUNCTION count_changes();
"""
"""One booking that counts how often it was changed, and refuses some notes; and its guests."""

CLOCKS = {
    "ASKBUS_ACK_WAIT": "1",
    "ASKBUS_SWEEP_EVERY": "0.5",
    "ASKBUS_STUCK_AFTER": "3",
    "ASKBUS_TRACE_RATIO": "0",
    "ASKBUS_LEASE": "1",
}


class Point(NamedTuple):
    """Where the process dies in a story; with `cold` it was started in it."""

    story: str
    at: Heard
    moment: Moment
    cold: bool


class Nursery:
    """Forks action-appliers; at most one lives."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self._process = process
        self.child = 0

    async def start(self) -> None:
        """A new one, in place of the last."""
        self.kill()
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(b"\n")
        self.child = int(await self._process.stdout.readline())

    def kill(self) -> None:
        """SIGKILL."""
        if self.child:
            with suppress(ProcessLookupError):
                os.kill(self.child, signal.SIGKILL)
            self.child = 0


@asynccontextmanager
async def nursery(
    proxy: PostgresProxy, database: TestDatabase, records_url: str, nats_url: str, log: Path
) -> AsyncIterator[Nursery]:
    """With both databases behind the proxy."""
    env = {
        **os.environ,
        **CLOCKS,
        "ASKBUS_DATABASE_URL": proxy.url(database.role_url(Service.ACTION_APPLIER)),
        "ASKBUS_RECORDS_URL": proxy.url(records_url),
        "ASKBUS_NATS_URL": nats_url,
    }
    with log.open("wb") as said:
        process = await asyncio.create_subprocess_exec(
            sys.executable, NURSERY, stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE, stderr=said, env=env
        )
        made = Nursery(process)
        try:
            yield made
        finally:
            made.kill()
            process.kill()
            await process.wait()


@dataclass
class Booking:
    """The booking's stories. Each ends with what must be true of the records, the ledger and askbus's own rows, whoever died."""

    pool: Pool
    company: Company
    records: Records
    team: TeamDatabase
    nc: Client
    number: "count[int]" = field(default_factory=count)

    async def pending(self, note: str) -> UUID:
        """An action that gives the booking this note and a guest of the same name."""
        by = self.company["mia"].principal
        wanted = (
            {"id": "a", "kind": "update", "collection": "bookings", "record": 1, "values": {"note": note}},
            {"id": "b", "kind": "create", "collection": "guests", "values": {"name": note, "booking_id": 1}},
        )
        operations = tuple(Operation.model_validate(one) for one in wanted)
        action_id = uuid4()
        proposal = Proposal(project_id=self.company.north, operations=operations)
        command = ProposeChanges(command_id=action_id, by=by, action_id=action_id, proposal=proposal)
        await verbs.propose(self.pool, command, await prepare(self.records, by, operations), trace=None)
        return action_id

    async def confirm(self, action_id: UUID) -> None:
        digest = await self.pool.fetchval("SELECT digest FROM actions WHERE id = $1", action_id)
        by = self.company["mia"].principal
        command = ConfirmAction(command_id=uuid4(), by=by, action_id=action_id, digest=digest)
        await verbs.confirm(self.pool, command, trace=None)
        await self.nc.publish(subjects.nudge(Service.ACTION_APPLIER))

    async def undo(self, action_id: UUID) -> None:
        command = UndoAction(command_id=uuid4(), by=self.company["mia"].principal, action_id=action_id, undo_id=uuid4())
        await verbs.request_undo(self.pool, command, trace=None)
        await self.nc.publish(subjects.nudge(Service.ACTION_APPLIER))

    async def state(self, action_id: UUID) -> str:
        return str(await self.pool.fetchval("SELECT state FROM actions WHERE id = $1", action_id))

    async def ends(self, action_id: UUID, state: str) -> None:
        async def ended() -> bool:
            return await self.state(action_id) == state

        await until(ended)

    async def is_whole(self, action_id: UUID, note: str) -> bool:
        """Whether the records have all of the action or nothing, as the ledger says."""
        ((done, guests, booked),) = await self.team.rows(
            "SELECT (SELECT count(*) FILTER (WHERE state = 'applied') - count(*) FILTER (WHERE state = 'undone') "
            f"FROM askbus_ledger.outcomes WHERE action_id = '{action_id}'), (SELECT count(*) FROM guests WHERE name = '{note}'), "
            f"(SELECT count(*) FROM bookings WHERE note = '{note}')"
        )
        return bool(done == guests == booked)

    async def found(self, action_id: UUID, note: str) -> tuple[object, ...]:
        """Whether the booking has the note, how often it was changed, how many guests of the name there are; what the ledger
        and the audit trail have of the action."""
        ((has, changed),) = await self.team.rows(f"SELECT note = '{note}', changed FROM bookings")
        guests = await self.team.value(f"SELECT count(*) FROM guests WHERE name = '{note}'")
        ledger = await self.team.rows(
            f"SELECT kind, state FROM askbus_ledger.outcomes WHERE action_id = '{action_id}' ORDER BY at"
        )
        audit = await self.pool.fetch(
            "SELECT event FROM audit_log WHERE entity_id = $1 AND via = 'service' ORDER BY id", action_id
        )
        return has, changed, guests, ledger, [row["event"] for row in audit]


Step = Callable[[], Awaitable[None]]


async def killed_at(
    proxy: PostgresProxy, child: Nursery, point: Point | None, begin: Step, look: Step, end: Step, *, cold: bool
) -> bool:
    """The story from `begin` to `end`, with the process killed at `point`, and after a `look` started anew; whether it came there.

    With `cold` it is started at the beginning of the story, and else has had time to know the schema and its statements.
    """
    died = asyncio.Event()

    def strike() -> None:
        child.kill()
        died.set()

    if cold:
        child.kill()
    if point is None:
        proxy.listen()
    else:
        proxy.strike_at(point.at, point.moment, strike)
    await begin()
    if cold:
        await child.start()
    dying, ending = asyncio.create_task(died.wait()), asyncio.ensure_future(end())
    await asyncio.wait({dying, ending}, return_when=asyncio.FIRST_COMPLETED)
    dying.cancel()
    proxy.disarm()
    if died.is_set():
        await look()
        await child.start()
    await ending
    return died.is_set()
