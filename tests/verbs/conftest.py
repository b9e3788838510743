"""Statements on a real Postgres, each as the service that owns them."""

from collections.abc import AsyncIterator

import pytest

from askbus.bus.envelope import Service
from askbus.db.pool import Pool, open_pool
from askbus.testing.people import Company, found_company
from askbus.testing.servers import TestDatabase
from askbus.testing.turns import RunningTurn, running_turn


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
async def runner(database: TestDatabase) -> AsyncIterator[Pool]:
    """Two connections as the tool-runner's own role, which may write runs and nothing of a turn's."""
    async with open_pool(database.role_url(Service.TOOL_RUNNER), size=2, name="tool-runner") as pool:
        yield pool


@pytest.fixture
async def turn(pool: Pool, company: Company) -> RunningTurn:
    """A turn of Mia's that waits for its tools."""
    return await running_turn(pool, company)


@pytest.fixture
async def loop(database: TestDatabase) -> AsyncIterator[Pool]:
    """Two connections as the agent-loop's own role."""
    async with open_pool(database.role_url(Service.AGENT_LOOP), size=2, name="agent-loop") as pool:
        yield pool


@pytest.fixture
async def expiry(database: TestDatabase) -> AsyncIterator[Pool]:
    """Two connections as expiry's own role."""
    async with open_pool(database.role_url(Service.EXPIRY), size=2, name="expiry") as pool:
        yield pool
