"""The database that every test gets."""

import asyncpg
import pytest

from askbus.bus.envelope import Service
from askbus.testing.servers import TestDatabase


async def test_each_test_has_an_empty_migrated_database(database: TestDatabase) -> None:
    """Copied from the migrated template: the tables are there and hold nothing of another test."""
    connection = await asyncpg.connect(database.url)
    assert await connection.fetchval("SELECT count(*) FROM askbus.workspaces") == 0
    await connection.close()


@pytest.mark.parametrize("service", Service)
async def test_each_service_connects_with_its_own_role(database: TestDatabase, service: Service) -> None:
    """The password derives from the tests' secret, as in a deployment."""
    connection = await asyncpg.connect(database.role_url(service))
    assert await connection.fetchval("SELECT current_user") == service.role
    assert await connection.fetchval("SELECT count(*) FROM askbus.workspaces") == 0
    await connection.close()
