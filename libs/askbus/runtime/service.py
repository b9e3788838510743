"""The life cycle of a service: up while its dependencies are down, ready when they are there, drained on SIGTERM.

A service is one function, `wire(ground)`, that says what it answers, what it acts on and what runs beside that. It is called once Postgres
is migrated and NATS is provisioned; until then the process lives, says why it is not ready, and waits.
"""

import asyncio
import signal
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Any, TypeVar
from uuid import uuid4

import asyncpg
import structlog
import uvloop
from nats.js import JetStreamContext
from pydantic import BaseModel

from askbus.bus import connection, provision, subjects
from askbus.bus.app import command, make_broker
from askbus.bus.commands import Commands
from askbus.bus.connection import Connection
from askbus.bus.envelope import Command, Service
from askbus.bus.fact import Fact
from askbus.bus.publisher import publish_facts
from askbus.bus.streams import FACTS_OF
from askbus.bus.worker import Handler, Worker
from askbus.db import migrate
from askbus.db.outages import OUTAGES
from askbus.db.pool import Pool, open_pool
from askbus.feed.model import Change
from askbus.feed.relay import Relay
from askbus.runtime import logs, telemetry
from askbus.runtime.health import Door
from askbus.runtime.secrets import service_database_url, service_nats_url
from askbus.runtime.settings import Settings

log = structlog.get_logger()

C = TypeVar("C", bound=Command[Any])
R = TypeVar("R", bound=BaseModel)
Probe = Callable[[], Awaitable[bool]]

RETRY = 0.5


class Ground:
    """What `wire` builds on: this process's connections, and the few ways in which a service may come to life."""

    def __init__(
        self, service: Service, settings: Settings, database_url: str, pool: Pool, nc: Connection, door: Door
    ) -> None:
        self.service = service
        self.database_url = database_url
        self.settings = settings
        self.pool = pool
        self.nc = nc
        self.js: JetStreamContext = nc.jetstream()
        self.commands = Commands(nc, settings.command_timeout)
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
    def broker(self) -> "Any":
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

    def relays(self) -> None:
        """This service's facts go to JetStream, through whichever instance holds the lease."""

        async def publish(changes: Sequence[Change]) -> None:
            await publish_facts(self.js, [Fact.of(change) for change in changes])

        self._relay = Relay(self.service, FACTS_OF[self.service], self.pool, publish, holder=self.holder, lease=self.settings.lease)
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
            asyncio.get_running_loop().create_task(self.nc.publish(subjects.nudge(owner), b""))  # noqa: RUF006  # fire and forget

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
                if self._worker is not None:
                    await self._worker.stop(self.settings.drain)
                await self._broker.stop()
                for task in tasks:
                    task.cancel()


async def _named(name: str, work: Callable[[], Awaitable[None]]) -> None:
    try:
        await work()
    except Exception as error:
        log.error("task.failed", task=name, error=type(error).__name__, exc_info=error)
        raise


Wire = Callable[[Ground], Awaitable[None]]


class App:
    """A service: its name, its settings, and how it is wired. `await app.run(stop)` lives until `stop` is set."""

    def __init__(self, service: Service, settings: Settings, wire: Wire) -> None:
        self.service = service
        self.settings = settings
        self.wire = wire
        host, port = settings.health_host, settings.health_port
        if service is Service.GATEWAY:
            host, port = settings.http_host, settings.http_port
        self.door = Door(host, port, drain=settings.drain)

    async def run(self, stop: asyncio.Event) -> None:
        """Serves until `stop` is set, then drains. Raises what a part of the service failed with."""
        settings, name = self.settings, self.service.value
        database_url, nats_url = settings.database_url, settings.nats_url
        if settings.secret is not None:
            secret = settings.secret.get_secret_value()
            database_url = service_database_url(database_url, self.service, secret)
            nats_url = service_nats_url(nats_url, name, secret)
        async with AsyncExitStack() as stack:
            await stack.enter_async_context(self.door.open())
            pool = await stack.enter_async_context(open_pool(database_url, size=settings.pool_size, name=f"askbus {name}"))
            ground = await _unless(stop, self._ground(stack, database_url, pool, nats_url))
            if ground is None:
                return
            log.info("service.ready")
            async with ground.living():
                await stop.wait()
                log.info("service.draining")
        log.info("service.stopped")

    async def _ground(self, stack: AsyncExitStack, database_url: str, pool: Pool, nats_url: str) -> Ground:
        """Waits for NATS and Postgres, for as long as it takes, then wires."""
        self.door.waits_for("nats")
        nc = await connection.connect(nats_url, self.service.value)
        stack.push_async_callback(_close, nc)
        self.door.alive_while(lambda: nc.alive)
        self.door.waits_for("migrations")
        await _migrated(pool)
        self.door.waits_for("streams")
        await provision.check(nc, self.service, ack_wait=self.settings.ack_wait)
        ground = Ground(self.service, self.settings, database_url, pool, nc, self.door)
        await self.wire(ground)
        return ground


async def _migrated(pool: Pool) -> None:
    said: str | None = None
    while True:
        try:
            async with pool.acquire() as db:
                missing = await migrate.pending(db)
            if not missing:
                return
            reason = f"{len(missing)} migrations are missing: run askbus migrate"
        except (OSError, TimeoutError, asyncpg.InterfaceError, asyncpg.PostgresError) as error:
            reason = f"Postgres: {type(error).__name__}"
        if reason != said:
            said = reason
            log.warning("service.waits", reason=reason)
        await asyncio.sleep(RETRY)


async def _close(nc: Connection) -> None:
    try:
        async with asyncio.timeout(2):
            await nc.flush()
    except Exception as error:  # noqa: BLE001  # it is closing anyway; what was not sent is sent again by whoever needs it
        log.info("nats.not_flushed", error=type(error).__name__)
    await nc.close()


T = TypeVar("T")


async def _unless(stop: asyncio.Event, work: Awaitable[T]) -> T | None:
    """The result of `work`, or None where `stop` was set first."""
    task = asyncio.ensure_future(work)
    stopped = asyncio.ensure_future(stop.wait())
    try:
        await asyncio.wait({task, stopped}, return_when=asyncio.FIRST_COMPLETED)
        return task.result() if task.done() else None
    finally:
        stopped.cancel()
        if not task.done():
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)


def main(service: Service, make_app: Callable[[Settings], App]) -> None:
    """The entry point of a service's process: settings, logs, traces, signals, and `make_app`."""
    settings = Settings.load()
    logs.configure(service.value, settings)

    async def serve() -> None:
        stop = asyncio.Event()
        loop = asyncio.get_running_loop()
        for number in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(number, stop.set)
        await make_app(settings).run(stop)

    with telemetry.configure(service.value, settings):
        uvloop.run(serve())
