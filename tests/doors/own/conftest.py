"""Services that were told of the modules in the documentation, and of tools that behave in every way."""

import re
import sys
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path

import httpx2
import pytest
from pydantic import JsonValue
from tests.doors.tools import strange_tools

from askbus.access.model import Scope
from askbus.bus.envelope import Service
from askbus.bus.provision import provision
from askbus.db.pool import Pool, open_pool
from askbus.testing.composed import Composed, compose
from askbus.testing.model_process import ScriptedModel
from askbus.testing.people import Company, found_company, give_token
from askbus.testing.records import SHOP, TeamDatabase, team_database
from askbus.testing.servers import Server, fresh_database, run_nats
from askbus_action_applier.app import make_app as make_applier
from askbus_agent_loop.app import make_app as make_agent_loop
from askbus_gateway.app import make_app as make_gateway
from askbus_tool_runner.app import make_app as make_tool_runner

DOCS = Path(__file__).parents[3] / "docs"
INVOICES = """
CREATE TABLE invoices (id int PRIMARY KEY, issued_on date NOT NULL, total numeric(12,2) NOT NULL, paid_at timestamptz);
INSERT INTO invoices VALUES (1, '2026-01-10', 100.10, now()), (2, '2026-01-31', 50.05, NULL), (3, '2026-03-01', 0.00, NULL);
"""
"""What the documentation's metric is computed from."""
ORDER_LINES = """
CREATE TABLE order_lines (
    id int GENERATED ALWAYS AS IDENTITY PRIMARY KEY, order_id int NOT NULL REFERENCES orders, amount numeric(12,2) NOT NULL
);
INSERT INTO order_lines (order_id, amount) SELECT id, amount FROM orders;
"""
"""What the documentation's tool adds up, by the names of the sample business."""
SERVICES = [
    (Service.GATEWAY, make_gateway),
    (Service.AGENT_LOOP, make_agent_loop),
    (Service.TOOL_RUNNER, make_tool_runner),
    (Service.ACTION_APPLIER, make_applier),
]
SCRIPT: list[JsonValue] = [
    {
        "when": "berth",
        "steps": [
            {
                "tool_calls": [
                    {"name": "berth_depth", "arguments": {"name": "A2"}},
                    {"name": "berth_depth", "arguments": {"name": "Z9"}},
                    {"name": "berth_depth", "arguments": {"number": 2}},
                    {"name": "customer_standing", "arguments": {"id": 1}},
                ]
            },
            {"text": "{{results[0].metres}} m | {{results[1].error.message}} | {{results[2]}} | {{results[3].worth}}"},
        ],
    },
    {
        "when": "unpaid",
        "steps": [
            {
                "tool_calls": [
                    {"name": "unpaid_share", "arguments": {"since": "2026-01-01", "until": "2026-01-31"}},
                    {"name": "unpaid_share", "arguments": {"since": "2026-01-01"}},
                ]
            },
            {"text": "{{results[0].display}} | {{results[1]}}"},
        ],
    },
    {
        "when": "strange",
        "steps": [
            {
                "tool_calls": [
                    {"name": "blocks_a_thread", "arguments": {}},
                    {"name": "breaks", "arguments": {}},
                    {"name": "returns_something_else", "arguments": {}},
                    {"name": "talks_much", "arguments": {}},
                    {"name": "is_not_there", "arguments": {}},
                    {"name": "plain", "arguments": {"word": ["no", "word"]}},
                    {"name": "plain", "arguments": {"word": "well"}},
                ]
            },
            {
                "text": "{{results[0].error.code}} | {{results[1].error.code}} | {{results[2].error.code}} | {{results[3]}} | "
                "{{results[4]}} | {{results[5]}} | {{results[6].word}}"
            },
        ],
    },
]


@dataclass(frozen=True)
class Stage:
    """What the tests of this file share: they change nothing that another looks at."""

    running: Composed
    company: Company
    pool: Pool
    shop: TeamDatabase


@pytest.fixture(scope="package")
async def stage(
    postgres_server: Server, migrated_template: str, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[Stage]:
    """Four services that were told of the documentation's module, and a model that uses it."""
    folder = tmp_path_factory.mktemp("harbour")
    for page, module in (("own-tools", "harbour_tools"), ("metrics", "harbour_metrics")):
        [code] = re.findall(r"```python\n(.*?)```", (DOCS / f"{page}.md").read_text("utf-8"), re.DOTALL)
        (folder / f"{module}.py").write_text(code)
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(folder)
        async with (
            fresh_database(postgres_server.url, migrated_template) as database,
            run_nats(folder) as nats,
            team_database(postgres_server.url) as shop,
            ScriptedModel(SCRIPT) as model,
            open_pool(database.url, size=2, name="tests") as pool,
        ):
            strange_tools.held.clear()
            await shop.run(SHOP + ORDER_LINES + INVOICES)
            await provision(nats.url, ack_wait=1)
            told = {
                "model_base_url": model.base_url,
                "records_url": shop.url,
                "tools": "harbour_tools, harbour_metrics, tests.doors.tools.strange_tools",
                "tool_result_bytes": 1024,
                "tool_seconds": 3.0,
            }
            company = await found_company(pool)
            async with compose(database, nats.url, SERVICES, **told) as running:
                yield Stage(running, company, pool, shop)
                strange_tools.held.set()
    del sys.modules["harbour_tools"], sys.modules["harbour_metrics"]


@pytest.fixture
def company(stage: Stage) -> Company:
    return stage.company


@pytest.fixture
def pool(stage: Stage) -> Pool:
    return stage.pool


@pytest.fixture
def running(stage: Stage) -> Composed:
    return stage.running


@pytest.fixture
async def agent(running: Composed, company: Company, pool: Pool) -> AsyncIterator[httpx2.AsyncClient]:
    """A token of Mia's that may read and propose."""
    token = await give_token(pool, company["mia"], (Scope.DATA_READ, Scope.ACTIONS_PROPOSE))
    async with running.client(token) as client:
        yield client
