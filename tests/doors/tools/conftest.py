"""A stage with nothing running, and one where the five tools work."""

from collections.abc import AsyncIterator

import pytest
from tests.doors.tools.stage import APPLIER, BROKER, RELAY, RUNNER, Stage

from askbus.bus.connection import connect
from askbus.bus.provision import provision
from askbus.db.pool import Pool
from askbus.testing.people import Company
from askbus.testing.records import SHOP, team_database
from askbus.testing.servers import Server, TestDatabase
from askbus.testing.turns import running_turn


@pytest.fixture
async def stage(
    database: TestDatabase, nats_server: Server, postgres_server: Server, pool: Pool, company: Company
) -> AsyncIterator[Stage]:
    """Nothing runs yet; the team's records are the small shop's."""
    await provision(nats_server.url, ack_wait=1)
    nc = await connect(nats_server.url, "tests")
    async with team_database(postgres_server.url) as team:
        await team.run(SHOP)
        yield Stage(database, nats_server.url, nc, pool, await running_turn(pool, company), team)
    await nc.close()


@pytest.fixture
async def working(stage: Stage) -> AsyncIterator[Stage]:
    """With the tool-runner and the two owners that its tools ask."""
    async with stage.running(RELAY, RUNNER, BROKER, APPLIER):
        yield stage
