"""Passwords, issuers and workspaces, as people meet them."""

import re
import socket
from collections.abc import AsyncIterator
from uuid import uuid4

import pytest
from playwright.async_api import expect
from tests.browser.conftest import Stack
from tests.browser.visits import Visits

from askbus.access import verbs
from askbus.access.model import Role
from askbus.bus.envelope import Service
from askbus.db.pool import Pool
from askbus.testing.composed import Composed, compose
from askbus.testing.issuer import CLIENT, SECRET, TestIssuer, issuing
from askbus.testing.people import Company
from askbus_gateway.app import make_app as make_gateway

pytestmark = pytest.mark.requirement("I2")

GOOD, BETTER = "a horse of no colour", "another horse entirely"


async def email_of(pool: Pool, company: Company, who: str) -> str:
    return str(await pool.fetchval("SELECT email FROM users WHERE id = $1", company[who].id))


async def test_a_password_is_set_by_a_link_changed_in_the_settings_and_typed(visit: Visits, pool: Pool, company: Company) -> None:
    """With the keyboard alone where it is typed; what is wrong is read out, and the code is gone from the address at once."""
    code = await verbs.create_login_code(pool, company.workspace_id, company["mia"].id, purpose="password")
    page = await visit(None, f"/#password={code}")
    await expect(page.get_by_label("New password", exact=True)).to_be_focused()
    assert code not in page.url
    await page.keyboard.type("12345678")
    await page.keyboard.press("Enter")
    await expect(page.get_by_role("alert")).to_contain_text("Choose another")
    await page.get_by_label("New password", exact=True).fill(GOOD)
    await page.get_by_role("button", name="Set password and sign in").click()
    await expect(page.get_by_role("heading", name=re.compile("mia"))).to_be_visible()

    await page.goto(f"{visit.askbus.http}/#settings=password")
    await page.get_by_label("Current password", exact=True).fill("not this one")
    await page.get_by_label("New password", exact=True).fill(BETTER)
    await page.get_by_role("button", name="Change password").click()
    await expect(page.get_by_role("alert")).to_contain_text("The current password is wrong.")
    await page.get_by_label("Current password", exact=True).fill(GOOD)
    await page.get_by_role("button", name="Change password").click()
    await expect(page.get_by_text("Your password is set.")).to_be_visible()

    other = await visit(None, "/#settings=password")
    await other.get_by_label("E-mail address").fill(await email_of(pool, company, "mia"))
    await other.keyboard.press("Tab")
    await other.keyboard.type(GOOD)
    await other.keyboard.press("Enter")
    await expect(other.get_by_role("alert")).to_contain_text("The e-mail address or the password is wrong.")
    await other.get_by_label("Show password").check()
    await other.get_by_label("Password", exact=True).fill(BETTER)
    await other.keyboard.press("Enter")
    await expect(other.get_by_role("heading", name="Password")).to_be_visible()
    assert other.url == f"{visit.askbus.http}/#settings=password"


async def test_a_member_of_two_workspaces_goes_from_one_to_the_other(visit: Visits, pool: Pool, company: Company) -> None:
    """By the menu; every tab of theirs goes along."""
    name = f"Second {uuid4().hex[:8]}"
    other = await verbs.create_workspace(pool, name)
    await verbs.set_member(pool, other, company["mia"].id, Role.VIEWER)
    context = await visit.context("mia")
    here, there = await visit.page(context), await visit.page(context)
    await expect(there.get_by_text("Nothing is waiting.")).to_be_visible()
    await here.get_by_role("button", name="Signed in as mia").click()
    await here.get_by_role("button", name=f"Go to {name}").click()
    for page in (here, there):
        await expect(page.get_by_role("navigation", name="Main")).to_contain_text(name)


@pytest.fixture
async def issuer() -> AsyncIterator[TestIssuer]:
    """Where people sign in."""
    async with issuing() as running:
        yield running


@pytest.fixture
async def gateway(stack: Stack, issuer: TestIssuer) -> AsyncIterator[Composed]:
    """Another gateway of the same deployment, which has the issuer and is where its address says."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    settings = {
        "outbound_hosts": ["127.0.0.1"],
        "http_port": port,
        "public_url": f"http://127.0.0.1:{port}",
        "sign_in": {"acme": {"label": "Acme", "issuer": issuer.url, "client_id": CLIENT, "client_secret": SECRET}},
    }
    nats_url = stack.askbus.apps[Service.GATEWAY][0].settings.nats_url
    async with compose(stack.database, nats_url, [(Service.GATEWAY, make_gateway)], **settings) as running:
        yield running


async def test_the_button_of_an_issuer_signs_in_there_and_comes_back(
    visit: Visits, gateway: Composed, issuer: TestIssuer, pool: Pool, company: Company
) -> None:
    """To where one wanted to be; an answer that cannot be trusted is told in a sentence of ours, whatever stands in the address."""
    email = await email_of(pool, company, "mia")
    issuer.person = {"sub": email, "email": email, "email_verified": True}
    issuer.twist = lambda said: {**said, "nonce": "of somebody else"}
    page = await (await visit.context(None)).new_page()
    await page.goto(f"{gateway.http}/#settings=tokens")
    await page.get_by_role("button", name="Sign in with Acme").click()
    await expect(page.get_by_role("alert")).to_contain_text("cannot be trusted")
    assert page.url == f"{gateway.http}/"
    issuer.twist = dict
    await page.goto(f"{gateway.http}/#settings=tokens")
    await page.get_by_role("button", name="Sign in with Acme").click()
    await expect(page.get_by_role("heading", name="API tokens")).to_be_visible()
    assert page.url == f"{gateway.http}/#settings=tokens"
