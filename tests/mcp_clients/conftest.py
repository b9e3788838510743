"""One deployment for all tests of this folder."""

from collections.abc import AsyncIterator

import pytest
from tests.mcp_clients.stage import Stage

from askbus.bus.envelope import Service
from askbus.bus.provision import provision
from askbus.db.pool import open_pool
from askbus.testing.composed import compose
from askbus.testing.people import Agent, found_company, give_token
from askbus.testing.servers import Server, fresh_database, run_nats
from askbus_question_broker.app import make_app as make_broker


@pytest.fixture(scope="package")
async def stage(
    postgres_server: Server, migrated_template: str, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[Stage]:
    """A gateway and a question-broker, over one company."""
    async with (
        fresh_database(postgres_server.url, migrated_template) as database,
        run_nats(tmp_path_factory.mktemp("clients")) as nats,
        open_pool(database.url, size=4, name="tests") as pool,
    ):
        await provision(nats.url, ack_wait=1)
        stage = Stage(database, nats.url, await found_company(pool), pool)
        async with compose(database, nats.url, [(Service.QUESTION_BROKER, make_broker)]):
            await stage.start()
            yield stage
            await stage.stop()


@pytest.fixture
async def agent(stage: Stage) -> Agent:
    """A token of mia's, who works in north alone."""
    return await give_token(stage.pool, stage.company["mia"])
