"""The services that the tools of the MCP door need, once for the folder: its tests change nothing that another looks at."""

from collections.abc import AsyncIterator

import pytest
from tests.doors.over_mcp.talk import Stage

from askbus.bus.envelope import Service
from askbus.bus.provision import provision
from askbus.db.pool import open_pool
from askbus.testing.composed import compose
from askbus.testing.people import Agent, found_company, give_token
from askbus.testing.records import SHOP, team_database
from askbus.testing.servers import Server, fresh_database, run_nats
from askbus_action_applier.app import make_app as make_applier
from askbus_expiry.app import make_app as make_expiry
from askbus_gateway.app import make_app as make_gateway
from askbus_question_broker.app import make_app as make_broker
from askbus_tool_runner.app import make_app as make_tool_runner

SERVICES = [
    (Service.GATEWAY, make_gateway),
    (Service.QUESTION_BROKER, make_broker),
    (Service.ACTION_APPLIER, make_applier),
    (Service.TOOL_RUNNER, make_tool_runner),
    (Service.EXPIRY, make_expiry),
]


@pytest.fixture(scope="package")
async def stage(
    postgres_server: Server, migrated_template: str, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[Stage]:
    """Calls are held for two seconds and told of every 100 ms."""
    async with (
        fresh_database(postgres_server.url, migrated_template) as database,
        run_nats(tmp_path_factory.mktemp("mcp")) as nats,
        team_database(postgres_server.url, ledger=True) as team,
        open_pool(database.url, size=4, name="tests") as pool,
    ):
        await provision(nats.url, ack_wait=1)
        await team.run(SHOP)
        company = await found_company(pool)
        async with compose(database, nats.url, SERVICES, records_url=team.url, mcp_hold=2, mcp_report=0.1) as running:
            yield Stage(running, company, pool, team)


@pytest.fixture
async def agent(stage: Stage) -> Agent:
    """A token of mia's, who works in north alone."""
    return await give_token(stage.pool, stage.company["mia"])
