"""One stack for every test of turns: all six services in this process, one scripted model, one team's database. Each test has a thread of
its own, and says to the model what no other test does."""

from collections.abc import AsyncIterator

import httpx2
import pytest
from tests.loop.script import SCRIPT
from tests.loop.talk import Talk

from askbus.bus.envelope import Service
from askbus.bus.provision import provision
from askbus.db.pool import Pool, open_pool
from askbus.testing.composed import Composed, compose
from askbus.testing.model_process import ScriptedModel
from askbus.testing.people import Company, found_company
from askbus.testing.records import SHOP, TeamDatabase, team_database
from askbus.testing.servers import Server, fresh_database, run_nats
from askbus_action_applier.app import make_app as make_action_applier
from askbus_agent_loop.app import make_app as make_agent_loop
from askbus_expiry.app import make_app as make_expiry
from askbus_gateway.app import make_app as make_gateway
from askbus_question_broker.app import make_app as make_broker
from askbus_tool_runner.app import make_app as make_tool_runner

ALL_SIX = [
    (Service.GATEWAY, make_gateway),
    (Service.AGENT_LOOP, make_agent_loop),
    (Service.TOOL_RUNNER, make_tool_runner),
    (Service.ACTION_APPLIER, make_action_applier),
    (Service.QUESTION_BROKER, make_broker),
    (Service.EXPIRY, make_expiry),
]

NAPS = "CREATE VIEW naps AS SELECT 1 AS id, 'rest' || pg_sleep(60)::text AS note"
"""Reading it takes longer than any tool may."""
PAPERS = """
CREATE TABLE papers (id int PRIMARY KEY, body text NOT NULL);
INSERT INTO papers SELECT n, repeat('page ' || n || ' ', 100) FROM generate_series(1, 100) n;
"""

BUDGETS = {
    "model_calls_per_turn": 6,
    "turn_seconds": 300.0,
    "tool_seconds": 1.5,
    "tool_result_bytes": 12_000,
    "prompt_bytes": 60_000,
    "prompt_exchanges": 4,
    "model_retries": 0,
    "time_zone": "America/New_York",
    "limit_chat": 0,  # one person sends all that these tests send, on a fast machine more than sixty a minute
}


@pytest.fixture(scope="package")
async def shop(postgres_server: Server) -> AsyncIterator[TeamDatabase]:
    """The team's own records."""
    async with team_database(postgres_server.url) as shop:
        await shop.run(SHOP, NAPS, PAPERS)
        yield shop


@pytest.fixture(scope="package")
async def model() -> AsyncIterator[ScriptedModel]:
    """The scripted model, in its own process."""
    async with ScriptedModel(SCRIPT) as model:
        yield model


@pytest.fixture(scope="package")
async def stack(
    postgres_server: Server,
    migrated_template: str,
    tmp_path_factory: pytest.TempPathFactory,
    model: ScriptedModel,
    shop: TeamDatabase,
) -> AsyncIterator[tuple[Composed, Pool, Company]]:
    """Everything, with small budgets."""
    async with (
        fresh_database(postgres_server.url, migrated_template) as database,
        run_nats(tmp_path_factory.mktemp("nats")) as nats,
        open_pool(database.url, size=4, name="tests") as pool,
    ):
        company = await found_company(pool)
        await provision(nats.url, ack_wait=1)
        settings = {"model_base_url": model.base_url, "records_url": shop.url, **BUDGETS}
        async with compose(database, nats.url, ALL_SIX, **settings) as running:
            yield running, pool, company


@pytest.fixture
def whole(stack: tuple[Composed, Pool, Company]) -> Composed:
    """The services."""
    return stack[0]


@pytest.fixture
def pool(stack: tuple[Composed, Pool, Company]) -> Pool:
    """The administrator's connections, to set scenes and to look at rows."""
    return stack[1]


@pytest.fixture
def company(stack: tuple[Composed, Pool, Company]) -> Company:
    """One workspace with a person of each kind, and a stranger."""
    return stack[2]


@pytest.fixture
async def mia(whole: Composed, company: Company) -> AsyncIterator[httpx2.AsyncClient]:
    """A member's browser."""
    async with whole.client(company["mia"]) as client:
        yield client


@pytest.fixture
async def talk(mia: httpx2.AsyncClient, company: Company, model: ScriptedModel) -> Talk:
    """A conversation of Mia's that just began."""
    made = await mia.post("/v1/threads", json={"project_id": str(company.north)})
    return Talk(mia, model, str(made.json()["id"]))
