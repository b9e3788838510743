"""A team's database per test, or one shop for all that only read; and askbus's way into it."""

from collections.abc import AsyncIterator, Awaitable, Callable

import pytest

from askbus.access.model import Principal
from askbus.records.engine import Records, open_records
from askbus.records.model import QueryPlan, Rows
from askbus.records.query import query
from askbus.testing.records import SHOP, TeamDatabase, somebody, team_database
from askbus.testing.servers import Server

Ask = Callable[..., Awaitable[Rows]]


@pytest.fixture
async def team(postgres_server: Server) -> AsyncIterator[TeamDatabase]:
    """An empty database with askbus's ledger."""
    async with team_database(postgres_server.url) as made:
        yield made


@pytest.fixture
async def shop(team: TeamDatabase) -> TeamDatabase:
    """Three customers, four orders, five lines."""
    await team.run(SHOP)
    return team


@pytest.fixture
async def records(team: TeamDatabase) -> AsyncIterator[Records]:
    """The database of `team` or `shop`, through askbus."""
    opened = open_records(team.url)
    yield opened
    await opened.dispose()


@pytest.fixture(scope="session")
async def kept_shop(postgres_server: Server) -> AsyncIterator[TeamDatabase]:
    """A shop for tests that change nothing in it."""
    async with team_database(postgres_server.url) as made:
        await made.run(SHOP)
        yield made


@pytest.fixture(scope="session")
async def kept_records(kept_shop: TeamDatabase) -> AsyncIterator[Records]:
    opened = open_records(kept_shop.url)
    yield opened
    await opened.dispose()


@pytest.fixture
def ask(kept_records: Records, member: Principal) -> Ask:
    """`query` on the kept shop, with the plan's parts as keywords."""

    async def run(collection: str, **parts: object) -> Rows:
        return await query(kept_records, member, QueryPlan.model_validate({"collection": collection, **parts}))

    return run


@pytest.fixture
def member() -> Principal:
    """Somebody who may read and change."""
    return somebody()
