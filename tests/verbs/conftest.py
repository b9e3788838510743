"""Statements on a real Postgres, each as the service that owns them."""

from collections.abc import AsyncIterator

import pytest

from askbus.db.pool import Pool, open_pool
from askbus.testing.people import Company, found_company
from askbus.testing.servers import TestDatabase


@pytest.fixture
async def pool(database: TestDatabase) -> AsyncIterator[Pool]:
    """The administrator's connections, to set scenes and to look at rows."""
    async with open_pool(database.url, size=4, name="tests") as pool:
        yield pool


@pytest.fixture
async def company(pool: Pool) -> Company:
    """One workspace with a person of each kind, and a stranger."""
    return await found_company(pool)
