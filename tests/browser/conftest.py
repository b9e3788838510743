"""A real browser before all six services, which run in this process over real Postgres and NATS and a scripted model."""

import shutil
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from dataclasses import dataclass
from uuid import uuid4

import pytest
from playwright.async_api import Browser, async_playwright, expect
from tests.browser.script import SCRIPT
from tests.browser.visits import Visits

from askbus.bus.envelope import Service
from askbus.bus.provision import provision
from askbus.db.pool import Pool, open_pool
from askbus.models.config import ModelConfig
from askbus.testing.composed import Composed, compose
from askbus.testing.model_process import ScriptedModel
from askbus.testing.people import Company, found_company
from askbus.testing.records import SHOP, TeamDatabase, team_database
from askbus.testing.servers import Server, TestDatabase, fresh_database, run_nats
from askbus_action_applier.app import make_app as make_action_applier
from askbus_agent_loop.app import make_app as make_agent_loop
from askbus_expiry.app import make_app as make_expiry
from askbus_gateway import app as gateway_app
from askbus_gateway.app import make_app as make_gateway
from askbus_gateway.sse.hub import Hub
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

NAMES = ("chromium", "chromium-browser", "google-chrome")
OPTIONS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]

PATIENCE = 60_000
"""Milliseconds in which a page has to show what is expected of it, also on a busy machine."""


@pytest.fixture(scope="package")
async def browser() -> AsyncIterator[Browser]:
    """The machine's own Chromium, without a window."""
    path = next((found for name in NAMES if (found := shutil.which(name))), None)
    if path is None:
        pytest.skip(f"No browser was found: none of {', '.join(NAMES)} is on PATH. Install chromium to run these tests.")
    expect.set_options(timeout=PATIENCE)
    async with async_playwright() as playwright:
        browser = await playwright.chromium.launch(executable_path=path, args=OPTIONS)
        yield browser
        await browser.close()


@pytest.fixture(scope="package")
async def model() -> AsyncIterator[ScriptedModel]:
    """The scripted model, in its own process."""
    async with ScriptedModel(SCRIPT) as model:
        yield model


@dataclass(frozen=True)
class Stack:
    """All six services, and what they stand on."""

    askbus: Composed
    database: TestDatabase
    hub: Hub
    shop: TeamDatabase


@pytest.fixture(scope="package")
async def stack(
    postgres_server: Server, migrated_template: str, model: ScriptedModel, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[Stack]:
    """Started once: tests are kept apart by their workspaces, as teams are."""
    async with (
        fresh_database(postgres_server.url, migrated_template) as database,
        run_nats(tmp_path_factory.mktemp("nats")) as nats,
        team_database(postgres_server.url, ledger=True) as shop,
    ):
        await shop.run(SHOP)
        await provision(nats.url, ack_wait=1)
        painter = ModelConfig(base_url=model.base_url, model="scripted", image_model="gpt-image-1")
        settings = {"models": {"default": painter}, "records_url": shop.url, "standing_approval_days": 7}
        hubs: list[Hub] = []

        class Kept(Hub):
            def __init__(self, *args: object) -> None:
                super().__init__(*args)  # type: ignore[arg-type]  # whatever the wiring gives it
                hubs.append(self)

        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(gateway_app, "Hub", Kept)
            async with compose(database, nats.url, ALL_SIX, **settings) as askbus:
                yield Stack(askbus, database, hubs[0], shop)


@pytest.fixture
async def askbus(stack: Stack) -> Composed:
    """`http` is where the console is."""
    return stack.askbus


@pytest.fixture
async def pool(stack: Stack) -> AsyncIterator[Pool]:
    """The administrator's connections, to set scenes and to look at rows."""
    async with open_pool(stack.database.url, size=4, name="tests") as pool:
        yield pool


@pytest.fixture
async def company(pool: Pool) -> Company:
    """One workspace with a person of each kind, and a stranger: this test's own."""
    return await found_company(pool, f"Nordlicht {uuid4().hex[:8]}")


@pytest.fixture
async def shop(stack: Stack) -> TeamDatabase:
    """The team's own records, with customer 1, whom the tests change, as she was at first."""
    await stack.shop.run("UPDATE customers SET name = 'Ada Lovelace', email = 'ada@example.org', country = 'UK' WHERE id = 1")
    return stack.shop


@pytest.fixture
async def visit(browser: Browser, askbus: Composed, company: Company, shop: TeamDatabase) -> AsyncIterator[Visits]:
    """`await visit("mia")` is a page on which Mia is signed in."""
    async with AsyncExitStack() as stack:
        visits = Visits(browser, askbus, company, stack)
        yield visits
    assert visits.complaints == []
