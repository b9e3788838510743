"""The ledger for a role that may use it and nothing more, as an operator of a large database would have it."""

from collections.abc import AsyncIterator
from uuid import uuid4

import asyncpg
import pytest

from askbus.records.ledger import prepare_ledger, rights_needed
from askbus.runtime.secrets import with_credentials
from askbus.testing.records import TeamDatabase, team_database
from askbus.testing.servers import Server


@pytest.fixture
async def unprepared(postgres_server: Server) -> AsyncIterator[TeamDatabase]:
    """A database without a ledger, and a role of its own."""
    async with team_database(postgres_server.url, ledger=False) as team:
        yield team


@pytest.fixture
async def role(unprepared: TeamDatabase) -> AsyncIterator[str]:
    """A role that owns nothing, for as long as the test lasts."""
    name = f"worker_{uuid4().hex}"
    await unprepared.run(f"CREATE ROLE {name} LOGIN PASSWORD 'of a test'")
    yield name
    await unprepared.run(f"DROP OWNED BY {name}", f"DROP ROLE {name}")


@pytest.mark.requirement("R16")
async def test_a_role_that_may_only_use_the_ledger_finds_it_ready(unprepared: TeamDatabase, role: str) -> None:
    """It may not make one; what the administrator made and granted is enough to start with."""
    url = with_credentials(unprepared.url, role, "of a test")
    with pytest.raises(asyncpg.InsufficientPrivilegeError):
        await prepare_ledger(url)
    await prepare_ledger(unprepared.url)
    await unprepared.run("\n".join(rights_needed(role)))
    await prepare_ledger(url)
    assert await TeamDatabase(url).value("SELECT count(*) FROM askbus_ledger.outcomes") == 0
