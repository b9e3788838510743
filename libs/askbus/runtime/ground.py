"""What a service is wired on: this process's connections, and the few ways in which it may come to life."""

import asyncio
import math
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import Any, TypeVar
from uuid import uuid4

import structlog
from nats.js import JetStreamContext
from pydantic import BaseModel

from askbus.bus import subjects
from askbus.bus.app import Broker, command, make_broker
from askbus.bus.commands import Commands
from askbus.bus.connection import Connection
from askbus.bus.envelope import Command, Service
from askbus.bus.fact import Fact
from askbus.bus.publisher import publish_facts
from askbus.bus.streams import FACTS_OF
from askbus.bus.worker import Handler, Worker
from askbus.db.outages import OUTAGES
from askbus.db.pool import Pool
from askbus.feed.model import Change
from askbus.feed.relay import Relay
from askbus.runtime.health import Door
from askbus.runtime.settings import Settings

log = structlog.get_logger()

C = TypeVar("C", bound=Command[Any])
R = TypeVar("R", bound=BaseModel)
Probe = Callable[[], Awaitable[bool]]


class Ground:
    """What `wire` builds on: this process's connections, and the few ways in which a service may come to life."""

    def __init__(
        self, service: Service, settings: Settings, *, database_url: str, pool: Pool, nc: Connection, door: Door
    ) -> None:
        self.service = service
        self.database_url = database_url
        self.settings = settings
        self.pool = pool
        self.nc = nc
        self.js: JetStreamContext = nc.jetstream()
        self.commands = Commands(nc, settings.command_timeout, settings.command_patience)
        self.holder = uuid4()
        self.door = door
        self._broker = make_broker(nc, drain=settings.drain)
        self._worker: Worker | None = None
        self._relay: Relay | None = None
        self._tasks: list[tuple[str, Callable[[], Awaitable[None]]]] = []
        self._probes: dict[str, Probe] = {"postgres": self._postgres, "nats": self._nats}
        self._ends: list[Callable[[], Awaitable[None]]] = []

    def answers(self, kind: type[C], handler: Callable[[C], Awaitable[R]]) -> None:
        """This service owns the command: `handler` answers it, and the relay looks at once for what it committed."""

        async def answer(request: C) -> R:
            reply = await handler(request)
            self.nudge()
            return reply

        answer.__annotations__ = {"request": kind, "return": kind.reply_type()}
        command(self._broker, kind)(answer)

    @property
    def broker(self) -> Broker:
        """FastStream's broker, for agents' doors."""
        return self._broker

    def acts_on(self, handlers: Mapping[str, Handler], on_dead: Handler | None = None) -> None:
        """The facts that this service acts on, one handler each."""
        self._worker = Worker(
            self.nc,
            self.service,
            {word: self._then_nudge(handler) for word, handler in handlers.items()},
            slots=self.settings.slots,
            ack_wait=self.settings.ack_wait,
            outages=OUTAGES,
            on_dead=on_dead,
        )
        self._probes["worker"] = self._worker.healthy

    def _then_nudge(self, handler: Handler) -> Handler:
        async def handle(fact: Fact) -> None:
            await handler(fact)
            self.nudge()

        return handle

    def behind(self) -> float:
        """For how many seconds a fact may have waited that was given to no worker yet: what rested for longer has none in the queue."""
        return math.inf if self._worker is None else self._worker.behind()

    def relays(self) -> None:
        """This service's facts go to JetStream, through whichever instance holds the lease."""

        async def publish(changes: Sequence[Change]) -> None:
            await publish_facts(self.js, [Fact.of(change) for change in changes])

        self._relay = Relay(
            self.service, FACTS_OF[self.service], self.pool, publish, holder=self.holder, lease=self.settings.lease
        )
        self.runs("relay", self._relay.run)

    def nudge(self) -> None:
        """Something was committed: the relay should look now, here or wherever it runs."""
        if self._relay is None:
            return
        if self._relay.holds:
            self._relay.nudge()
        else:
            self.nudge_owner(self.service)

    def nudge_owner(self, owner: Service) -> None:
        """Tells another owner's relay that a row of its own was moved; if this is lost, its poll finds it within a second."""
        if self.nc.is_connected:
            asyncio.get_running_loop().create_task(self.nc.publish(subjects.nudge(owner), b""))  # fire and forget

    def runs(self, name: str, work: Callable[[], Awaitable[None]]) -> None:
        """Runs beside everything else until the service stops; if it fails, the process ends and is started anew."""
        self._tasks.append((name, work))

    def every(self, seconds: float, name: str, work: Callable[[], Awaitable[object]]) -> None:
        """Repeats `work` with a pause between; a failure is logged and the next round comes all the same."""

        async def rounds() -> None:
            while True:
                try:
                    await work()
                except Exception as error:  # noqa: BLE001  # the next round tries again
                    log.warning("round.failed", round=name, error=type(error).__name__)
                await asyncio.sleep(seconds)

        self.runs(name, rounds)

    def ready_when(self, name: str, probe: Probe) -> None:
        """One more thing that must be true before this service calls itself ready."""
        self._probes[name] = probe

    def at_end(self, end: Callable[[], Awaitable[None]]) -> None:
        """Called when the service drains, before its connections close."""
        self._ends.append(end)

    async def _postgres(self) -> bool:
        async with asyncio.timeout(2):
            return bool(await self.pool.fetchval("SELECT true"))

    async def _nats(self) -> bool:
        return self.nc.is_connected

    @asynccontextmanager
    async def living(self) -> AsyncIterator[asyncio.TaskGroup]:
        """Everything that was wired runs inside this context; leaving it drains."""
        if self._relay is not None:
            relay = self._relay

            async def on_nudge(_message: object) -> None:
                relay.nudge()

            await self.nc.subscribe(subjects.nudge(self.service), cb=on_nudge)
        await self._broker.start()
        if self._worker is not None:
            await self._worker.start()
        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(_named(name, work)) for name, work in self._tasks]
            self.door.ready_with(self._probes)
            try:
                yield group
            finally:
                self.door.ready_with(None)
                for end in self._ends:
                    await end()
                await self.door.finish()
                if self._worker is not None:
                    await self._worker.stop(self.settings.drain)
                await self._broker.stop()
                for task in tasks:
                    task.cancel()


async def _named(name: str, work: Callable[[], Awaitable[None]]) -> None:
    try:
        await work()
    except Exception:
        log.exception("task.failed", task=name)
        raise
