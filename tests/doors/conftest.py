"""The services that the doors' tests talk to, composed in this process over real Postgres and NATS."""

from collections.abc import AsyncIterator

import pytest

from askbus.bus.envelope import Service
from askbus.bus.provision import provision
from askbus.db.pool import Pool, open_pool
from askbus.testing.composed import Composed, compose
from askbus.testing.people import Company, found_company
from askbus.testing.records import SHOP, TeamDatabase, team_database
from askbus.testing.servers import Server, TestDatabase
from askbus_action_applier.app import make_app as make_applier
from askbus_expiry.app import make_app as make_expiry
from askbus_gateway.app import make_app as make_gateway
from askbus_question_broker.app import make_app as make_broker


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
async def questions(database: TestDatabase, nats_server: Server, company: Company) -> AsyncIterator[Composed]:
    """Gateway, question-broker and expiry."""
    await provision(nats_server.url, ack_wait=1)
    services = [(Service.GATEWAY, make_gateway), (Service.QUESTION_BROKER, make_broker), (Service.EXPIRY, make_expiry)]
    async with compose(database, nats_server.url, services) as running:
        yield running


@pytest.fixture
async def team(database: TestDatabase, nats_server: Server, company: Company) -> AsyncIterator[Composed]:
    """The gateway alone: what it owns itself."""
    await provision(nats_server.url, ack_wait=1)
    async with compose(database, nats_server.url, [(Service.GATEWAY, make_gateway)]) as running:
        yield running


@pytest.fixture
async def shop(postgres_server: Server) -> AsyncIterator[TeamDatabase]:
    """The team's own records, in a database of their own that is prepared for askbus."""
    async with team_database(postgres_server.url, ledger=True) as team:
        await team.run(SHOP)
        yield team


@pytest.fixture
async def actions(database: TestDatabase, nats_server: Server, company: Company, shop: TeamDatabase) -> AsyncIterator[Composed]:
    """Gateway, action-applier and expiry, over the shop."""
    await provision(nats_server.url, ack_wait=1)
    services = [(Service.GATEWAY, make_gateway), (Service.ACTION_APPLIER, make_applier), (Service.EXPIRY, make_expiry)]
    async with compose(database, nats_server.url, services, records_url=shop.url) as running:
        yield running
