"""A company, an app that registered itself, and the gateway's own rights on Postgres."""

from collections.abc import AsyncIterator

import pytest

from askbus.bus.envelope import Service
from askbus.bus.provision import provision
from askbus.db.pool import Pool, open_pool
from askbus.testing.apps import App, register_app
from askbus.testing.composed import Composed, compose
from askbus.testing.people import Company, found_company
from askbus.testing.servers import Server, TestDatabase
from askbus_gateway.app import make_app as make_gateway


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
async def gateway(database: TestDatabase) -> AsyncIterator[Pool]:
    """Connections as the gateway's own role, which is all that an app's tokens are made with."""
    async with open_pool(database.role_url(Service.GATEWAY), size=4, name="gateway") as pool:
        yield pool


@pytest.fixture
async def app(pool: Pool) -> App:
    """A public app that registered itself."""
    return await register_app(pool)


@pytest.fixture
async def running(database: TestDatabase, nats_server: Server, company: Company) -> AsyncIterator[Composed]:
    """The gateway alone."""
    await provision(nats_server.url, ack_wait=1)
    async with compose(database, nats_server.url, [(Service.GATEWAY, make_gateway)]) as running:
        yield running
