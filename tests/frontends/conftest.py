"""All six services once for this folder, a scripted model, and the clients of real front ends under node."""

from collections.abc import AsyncIterator

import pytest
from tests.frontends.stage import SCRIPT, Stage

from askbus.bus.envelope import Service
from askbus.bus.provision import provision
from askbus.db.pool import open_pool
from askbus.testing.composed import compose
from askbus.testing.model_process import ScriptedModel
from askbus.testing.people import found_company
from askbus.testing.records import SHOP, team_database
from askbus.testing.servers import Server, fresh_database, run_nats
from askbus_action_applier.app import make_app as make_action_applier
from askbus_agent_loop.app import make_app as make_agent_loop
from askbus_expiry.app import make_app as make_expiry
from askbus_gateway.app import make_app as make_gateway
from askbus_question_broker.app import make_app as make_broker
from askbus_tool_runner.app import make_app as make_tool_runner

SERVICES = [
    (Service.GATEWAY, make_gateway),
    (Service.GATEWAY, make_gateway),
    (Service.AGENT_LOOP, make_agent_loop),
    (Service.TOOL_RUNNER, make_tool_runner),
    (Service.ACTION_APPLIER, make_action_applier),
    (Service.QUESTION_BROKER, make_broker),
    (Service.EXPIRY, make_expiry),
]


@pytest.fixture(scope="package")
async def stage(
    postgres_server: Server, migrated_template: str, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[Stage]:
    """All of it, once."""
    async with (
        fresh_database(postgres_server.url, migrated_template) as database,
        run_nats(tmp_path_factory.mktemp("nats")) as nats,
        open_pool(database.url, size=2, name="tests") as pool,
        ScriptedModel(SCRIPT) as model,
        team_database(postgres_server.url, ledger=True) as shop,
    ):
        company = await found_company(pool)
        await shop.run(SHOP)
        await provision(nats.url, ack_wait=1)
        settings = {"model_base_url": model.base_url, "records_url": shop.url, "lease": 10.0, "limit_chat": 0}
        async with compose(database, nats.url, SERVICES, **settings) as running:
            yield Stage(running, company, model, pool)
