"""Gateways over a database that the tests write to as the owners would; no other service runs."""

from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager

import pytest

from askbus.bus.envelope import Service
from askbus.bus.provision import provision
from askbus.db.pool import Pool, open_pool
from askbus.testing.composed import Composed, compose
from askbus.testing.people import Company, found_company
from askbus.testing.servers import Server, TestDatabase
from askbus_gateway import app
from askbus_gateway.sse.hub import Hub

Gateways = Callable[..., AbstractAsyncContextManager[Composed]]
"""`gateways(2, heartbeat=0.1)` runs so many, with these settings."""


@pytest.fixture
async def pool(database: TestDatabase) -> AsyncIterator[Pool]:
    """The administrator's connections, to make changes and to look at rows."""
    async with open_pool(database.url, size=8, name="tests") as pool:
        yield pool


@pytest.fixture
async def company(pool: Pool) -> Company:
    """One workspace with a person of each kind, and a stranger."""
    return await found_company(pool)


BOTH_WAYS = pytest.mark.parametrize("feed", ["listen", "bus"], indirect=True)
"""For scenes that hold whether gateways hear of changes from Postgres or from the bus."""


@pytest.fixture
def feed(request: pytest.FixtureRequest) -> str:
    """Where gateways hear of changes (ASKBUS_FEED)."""
    return str(getattr(request, "param", "listen"))


@pytest.fixture
async def gateways(database: TestDatabase, nats_server: Server, feed: str) -> Gateways:
    """Starts gateways, each with a hub, a LISTEN connection and a pool of its own."""
    await provision(nats_server.url, ack_wait=1)

    def run(number: int = 1, **settings: object) -> AbstractAsyncContextManager[Composed]:
        given = {"feed": feed, **settings}
        return compose(database, nats_server.url, [(Service.GATEWAY, app.make_app)] * number, **given)

    return run


@pytest.fixture
def hubs(monkeypatch: pytest.MonkeyPatch) -> list[Hub]:
    """The hubs of the gateways that start from now on: what they hold."""
    made: list[Hub] = []

    class Kept(Hub):
        def __init__(self, *args: object) -> None:
            super().__init__(*args)  # type: ignore[arg-type]  # whatever the wiring gives it
            made.append(self)

    monkeypatch.setattr(app, "Hub", Kept)
    return made


@pytest.fixture
async def gateway(gateways: Gateways, company: Company) -> AsyncIterator[Composed]:
    """One gateway with the settings of production, but for a short heartbeat."""
    async with gateways(heartbeat=0.2) as running:
        yield running
