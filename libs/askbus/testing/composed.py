"""Services in one event loop, by their own `make_app`, over real Postgres and NATS: what the tests of doors run on."""

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager

import httpx2

from askbus.bus.envelope import Service
from askbus.runtime.service import App
from askbus.runtime.settings import Settings
from askbus.testing.conforming import judge
from askbus.testing.people import Agent, Person
from askbus.testing.servers import TestDatabase

MakeApp = Callable[[Settings], App]

QUICK: Mapping[str, object] = {
    "lease": 1.0,
    "ack_wait": 1.0,
    "sweep_every": 0.3,
    "stuck_after": 0.5,
    "expiry_every": 0.2,
    "drain": 2.0,
}
"""Clocks short enough that a test may wait for what they do."""


class Composed:
    """The running services. `http` is where the gateway listens."""

    def __init__(self, apps: Mapping[Service, list[App]]) -> None:
        self.apps = apps

    @property
    def http(self) -> str:
        return self.url()

    def url(self, gateway: int = 0) -> str:
        """Where this one of the gateways listens."""
        return f"http://127.0.0.1:{self.apps[Service.GATEWAY][gateway].door.port}"

    def client(self, who: Person | Agent | None = None, *, gateway: int = 0) -> httpx2.AsyncClient:
        """An HTTP client that is this person's browser, or this agent; a stranger without any. Use it as a context manager.

        Every answer that it gets must be one that the served OpenAPI document has.
        """
        headers = {"authorization": f"Bearer {who.token}"} if isinstance(who, Agent) else {}
        cookies = {"askbus_session": who.cookie} if isinstance(who, Person) else {}
        hooks = {"response": [judge]}
        return httpx2.AsyncClient(base_url=self.url(gateway), headers=headers, cookies=cookies, timeout=30, event_hooks=hooks)


@asynccontextmanager
async def compose(
    database: TestDatabase, nats_url: str, services: Sequence[tuple[Service, MakeApp]], **settings: object
) -> AsyncIterator[Composed]:
    """Runs the services until the context ends; ready when all of them are. The streams on NATS must be provisioned."""
    stop = asyncio.Event()
    apps: dict[Service, list[App]] = {}
    running: list[asyncio.Task[None]] = []
    async with AsyncExitStack() as stack:
        stack.callback(stop.set)
        for service, make_app in services:
            given: dict[str, object] = {
                **QUICK,
                "database_url": database.role_url(service),
                "nats_url": nats_url,
                "http_port": 0,
                "public_url": "http://localhost",
                **settings,
            }
            app = make_app(Settings.load(**given))
            apps.setdefault(service, []).append(app)
            running.append(asyncio.create_task(app.run(stop), name=service.value))
        try:
            for group in apps.values():
                for app in group:
                    await _ready(app, running)
            yield Composed(apps)
        finally:
            stop.set()
            await asyncio.gather(*running)


async def _ready(app: App, running: Sequence[asyncio.Task[None]]) -> None:
    async with asyncio.timeout(90):
        while not all((await app.door.ready()).values()):
            for task in running:
                if task.done():
                    task.result()
            await asyncio.sleep(0.01)
