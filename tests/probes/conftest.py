"""Where probes run in tests: the real services in this loop, a business for probes, and a model that is a script."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

from askbus.bus.envelope import Service
from askbus.bus.provision import provision
from askbus.db.pool import open_pool
from askbus.probes.model import schema
from askbus.probes.run import Place
from askbus.testing.composed import compose
from askbus.testing.model_process import ScriptedModel
from askbus.testing.people import found_company
from askbus.testing.records import team_database
from askbus.testing.servers import Server, fresh_database, run_nats
from askbus_action_applier.app import make_app as make_applier
from askbus_agent_loop.app import make_app as make_agent_loop
from askbus_gateway.app import make_app as make_gateway
from askbus_question_broker.app import make_app as make_broker
from askbus_tool_runner.app import make_app as make_tool_runner

HERE = Path(__file__).parent
SERVICES = [
    (Service.GATEWAY, make_gateway),
    (Service.AGENT_LOOP, make_agent_loop),
    (Service.TOOL_RUNNER, make_tool_runner),
    (Service.ACTION_APPLIER, make_applier),
    (Service.QUESTION_BROKER, make_broker),
]


@dataclass(frozen=True)
class Stage(Place):
    """With the model, to see what it was sent, and the records as they are."""

    model: ScriptedModel


@asynccontextmanager
async def place(postgres: Server, template: str, folder: Path, script: Path) -> AsyncIterator[Stage]:
    """Everything, with the model that this script is."""
    async with (
        fresh_database(postgres.url, template) as database,
        run_nats(folder) as nats,
        team_database(postgres.url) as team,
        ScriptedModel(script) as model,
    ):
        await team.run(schema())
        await provision(nats.url, ack_wait=1)
        async with open_pool(database.url, size=1, name="tests") as pool:
            company = await found_company(pool)
        told = {"model_base_url": model.base_url, "records_url": team.url}
        async with compose(database, nats.url, SERVICES, **told) as running:
            yield Stage(running.http, company["mia"].cookie, company.north, database.url, team.url, model)


@pytest.fixture(scope="module")
async def good(postgres_server: Server, migrated_template: str, tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Stage]:
    """With a model that does what it should."""
    async with place(postgres_server, migrated_template, tmp_path_factory.mktemp("good"), HERE / "good.json") as there:
        yield there


@pytest.fixture(scope="module")
async def bad(postgres_server: Server, migrated_template: str, tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Stage]:
    """With one that does what it must not."""
    async with place(postgres_server, migrated_template, tmp_path_factory.mktemp("bad"), HERE / "bad.json") as there:
        yield there
