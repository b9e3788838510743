"""Services that a test may stop and start one by one, behind a NATS that knows who may do what; and both clients on them."""

from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import cast

import httpx2
import pytest

from askbus.bus.accounts import ADMIN, accounts_block
from askbus.bus.connection import connect
from askbus.bus.envelope import Service
from askbus.bus.provision import provision
from askbus.client import AgentClient, BusClient, HttpClient
from askbus.db.pool import Pool, open_pool
from askbus.runtime.secrets import callout_seed, service_nats_url
from askbus.runtime.service import App
from askbus.stack.nats import Nats
from askbus.stack.ports import free_port
from askbus.testing.composed import Composed, MakeApp, compose
from askbus.testing.people import Agent, Company, Person, found_company
from askbus.testing.servers import SECRET, TestDatabase, run_nats
from askbus.testing.waiting import until
from askbus_expiry.app import make_app as make_expiry
from askbus_gateway.app import make_app as make_gateway
from askbus_question_broker.app import make_app as make_broker

SERVICES: dict[Service, MakeApp] = {
    Service.GATEWAY: make_gateway,
    Service.QUESTION_BROKER: make_broker,
    Service.EXPIRY: make_expiry,
}

Door = Callable[..., AgentClient]
"""`door(agent)` is a client for this agent, on whichever door the test runs: enter it."""


class Stage:
    """The services that questions need, each with its own Postgres role and NATS user; on one port, however often restarted."""

    def __init__(self, database: TestDatabase, nats: Nats) -> None:
        self.database = database
        self.nats = nats
        self._port = free_port()
        self._running: dict[Service, AsyncExitStack] = {}
        self._gateway: Composed | None = None
        self._apps: dict[Service, list[App]] = {}

    @property
    def http(self) -> str:
        return f"http://127.0.0.1:{self._port}"

    def browser(self, who: Person) -> httpx2.AsyncClient:
        assert self._gateway is not None
        return self._gateway.client(who)

    async def answer(self, who: Person, question_id: object, answer: object) -> None:
        """As this person does it, in the browser."""
        async with self.browser(who) as browser:
            response = await browser.post(f"/v1/questions/{question_id}/answer", json={"answer": answer})
        assert response.status_code == 200, response.text

    async def ask_back(self, who: Person, question_id: object, text: str) -> None:
        async with self.browser(who) as browser:
            response = await browser.post(f"/v1/questions/{question_id}/ask-back", json={"text": text})
        assert response.status_code == 200, response.text

    @asynccontextmanager
    async def overhears(self, subject: str) -> AsyncIterator[None]:
        """Leaving it waits until something was sent on the subject, whether or not it arrived."""
        nc = await connect(service_nats_url(self.nats.url, ADMIN, SECRET), ADMIN)
        try:
            sent = await nc.subscribe(subject)
            await nc.flush()
            yield
            await sent.next_msg(timeout=15)
        finally:
            await nc.close()

    async def start(self, *services: Service) -> None:
        for service in services:
            stack = AsyncExitStack()
            running = await stack.enter_async_context(
                compose(
                    self.database,
                    self.nats.url,
                    [(service, SERVICES[service])],
                    secret=SECRET,
                    callout_seed=callout_seed(SECRET),
                    http_port=self._port,
                )
            )
            self._running[service] = stack
            self._apps[service] = running.apps[service]
            if service is Service.GATEWAY:
                self._gateway = running

    async def stop(self, *services: Service) -> None:
        for service in services:
            del self._apps[service]
            await self._running.pop(service).aclose()

    async def restart(self, *services: Service) -> None:
        await self.stop(*services)
        await self.start(*services)

    async def ready(self) -> None:
        """Every service that runs has found its dependencies again."""

        async def all_ready() -> bool:
            states = [await app.door.ready() for apps in self._apps.values() for app in apps]
            return all(all(state.values()) for state in states)

        await until(all_ready)

    async def close(self) -> None:
        await self.stop(*self._running)


@pytest.fixture
async def pool(database: TestDatabase) -> AsyncIterator[Pool]:
    """The administrator's connections, to set scenes and to look at rows."""
    async with open_pool(database.url, size=4, name="tests") as pool:
        yield pool


@pytest.fixture
async def company(pool: Pool) -> Company:
    """One workspace with a person of each kind, and a stranger."""
    return await found_company(pool)


@pytest.fixture
async def nats(tmp_path: Path) -> AsyncIterator[Nats]:
    """A provisioned NATS with the accounts of askbus, to kill and to start again."""
    async with run_nats(tmp_path, accounts_block(SECRET)) as server:
        await provision(service_nats_url(server.url, ADMIN, SECRET), ack_wait=1)
        yield cast("Nats", server)


@pytest.fixture
async def stage(database: TestDatabase, nats: Nats, company: Company) -> AsyncIterator[Stage]:
    """Gateway, question-broker and expiry, running."""
    stage = Stage(database, nats)
    await stage.start(*SERVICES)
    yield stage
    await stage.close()


@pytest.fixture(params=["http", "bus"])
def door(request: pytest.FixtureRequest, stage: Stage) -> Door:
    """Both doors of agents: each scenario runs over the one and over the other."""

    def over_http(agent: Agent, patience: float = 15) -> AgentClient:
        return HttpClient(stage.http, agent.token, patience=patience)

    def on_the_bus(agent: Agent, patience: float = 15) -> AgentClient:
        return BusClient(stage.nats.url, agent.token, patience=patience)

    return over_http if request.param == "http" else on_the_bus
