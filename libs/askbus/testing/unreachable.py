"""A database that cannot be reached for a while."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from askbus.testing.records import TeamDatabase
from askbus.testing.servers import Server, administer


@asynccontextmanager
async def away(server: Server, team: TeamDatabase) -> AsyncIterator[None]:
    """The team's database takes no connections, and those that were open are gone, until the block ends."""
    name = team.url.rpartition("/")[2]
    await administer(server.url, f'ALTER DATABASE "{name}" WITH ALLOW_CONNECTIONS false')
    await administer(server.url, f"SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = '{name}'")  # noqa: S608
    try:
        yield
    finally:
        await administer(server.url, f'ALTER DATABASE "{name}" WITH ALLOW_CONNECTIONS true')
