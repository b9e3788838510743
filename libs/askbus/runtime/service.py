"""The life cycle of a service: up while its dependencies are down, ready when they are there, drained on SIGTERM.

A service is one function, `wire(ground)`, that says what it answers, what it acts on and what runs beside that. It is called once Postgres
is migrated and NATS is provisioned; until then the process lives, says why it is not ready, and waits.
"""

import asyncio
import signal
from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack
from typing import TypeVar

import structlog
import uvloop

from askbus import redaction
from askbus.bus import connection, provision
from askbus.bus.connection import Connection
from askbus.bus.envelope import Service
from askbus.db import migrate
from askbus.db.outages import TROUBLE
from askbus.db.pool import Pool, open_pool
from askbus.runtime import logs, telemetry
from askbus.runtime.ground import Ground
from askbus.runtime.health import Door
from askbus.runtime.known_secrets import secrets_of
from askbus.runtime.secrets import service_database_url, service_nats_url
from askbus.runtime.settings import Settings

log = structlog.get_logger()

RETRY = 0.5


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
        redaction.know(secrets_of(settings))
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
        ground = Ground(self.service, self.settings, database_url=database_url, pool=pool, nc=nc, door=self.door)
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
        except TROUBLE as error:
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
        # Again until it ends: asyncio.wait_for swallows a cancellation in the moment in which a connection is refused (Python < 3.12).
        while not task.done():
            task.cancel()
            await asyncio.wait({task}, timeout=RETRY)
        if not task.cancelled():
            task.exception()  # how it ended does not matter any more, and is not to be reported as forgotten


def main(service: Service, make_app: Callable[[Settings], App]) -> None:
    """The entry point of a service's process: settings, logs, traces, signals, and `make_app`."""
    settings = Settings.load()
    logs.configure(service.value, settings)

    async def serve() -> None:
        stop = asyncio.Event()
        loop = asyncio.get_running_loop()
        loop.set_exception_handler(logs.on_loop_exception)
        for number in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(number, stop.set)
        await make_app(settings).run(stop)

    with telemetry.configure(service.value, settings):
        uvloop.run(serve())
