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


@pytest.fixture(scope="session")
async def empty_template(postgres_server: Server) -> AsyncIterator[str]:
    """A database with nothing but askbus's ledger, to be copied."""
    async with team_database(postgres_server.url, ledger=True) as made:
        yield made.name


@pytest.fixture(scope="session")
async def shop_template(postgres_server: Server, empty_template: str) -> AsyncIterator[str]:
    """The same with the shop in it."""
    async with team_database(postgres_server.url, empty_template, ledger=False) as made:
        await made.run(SHOP)
        yield made.name


@pytest.fixture
async def team(
    postgres_server: Server, empty_template: str, shop_template: str, request: pytest.FixtureRequest
) -> AsyncIterator[TeamDatabase]:
    """A team's database with askbus's ledger: empty, or the shop where the test asks for that."""
    template = shop_template if "shop" in request.fixturenames else empty_template
    async with team_database(postgres_server.url, template, ledger=False) as made:
        yield made


@pytest.fixture
def shop(team: TeamDatabase) -> TeamDatabase:
    """Three customers, four orders, five lines."""
    return team


@pytest.fixture
async def records(team: TeamDatabase) -> AsyncIterator[Records]:
    """The database of `team` or `shop`, through askbus."""
    opened = open_records(team.url)
    yield opened
    await opened.dispose()


@pytest.fixture(scope="session")
async def kept_shop(postgres_server: Server, shop_template: str) -> AsyncIterator[TeamDatabase]:
    """A shop for tests that change nothing in it."""
    async with team_database(postgres_server.url, shop_template, ledger=False) as made:
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
