"""A real browser before all six services, which run in this process over real Postgres and NATS and a scripted model."""

import shutil
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack

import pytest
from playwright.async_api import Browser, async_playwright, expect
from tests.browser.script import SCRIPT
from tests.browser.visits import Visits

from askbus.bus.envelope import Service
from askbus.bus.provision import provision
from askbus.db.pool import Pool, open_pool
from askbus.testing.composed import Composed, compose
from askbus.testing.model_process import ScriptedModel
from askbus.testing.people import Company, found_company
from askbus.testing.records import SHOP, TeamDatabase, team_database
from askbus.testing.servers import Server, TestDatabase
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

PATIENCE = 15_000
"""Milliseconds in which a page has to show what is expected of it, also on a busy machine."""


@pytest.fixture(scope="session")
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


@pytest.fixture(scope="session")
async def model() -> AsyncIterator[ScriptedModel]:
    """The scripted model, in its own process."""
    async with ScriptedModel(SCRIPT) as model:
        yield model


@pytest.fixture
async def pool(database: TestDatabase) -> AsyncIterator[Pool]:
    """The administrator's connections, to set scenes and to look at rows."""
    async with open_pool(database.url, size=4, name="tests") as pool:
        yield pool


@pytest.fixture
async def company(pool: Pool) -> Company:
    """One workspace with a person of each kind, and a stranger."""
    return await found_company(pool)


@pytest.fixture
async def shop(postgres_server: Server) -> AsyncIterator[TeamDatabase]:
    """The team's own records."""
    async with team_database(postgres_server.url) as team:
        await team.run(SHOP)
        yield team


@pytest.fixture
async def askbus(
    database: TestDatabase, nats_server: Server, company: Company, model: ScriptedModel, shop: TeamDatabase
) -> AsyncIterator[Composed]:
    """Everything; `http` is where the console is."""
    await provision(nats_server.url, ack_wait=1)
    settings = {"model_base_url": model.base_url, "records_url": shop.url}
    async with compose(database, nats_server.url, ALL_SIX, **settings) as running:
        yield running


@pytest.fixture
async def visit(browser: Browser, askbus: Composed, company: Company) -> AsyncIterator[Visits]:
    """`await visit("mia")` is a page on which Mia is signed in."""
    async with AsyncExitStack() as stack:
        visits = Visits(browser, askbus, company, stack)
        yield visits
    assert visits.complaints == []
