"""Coming in by a link, and leaving."""

import re

import pytest
from playwright.async_api import expect
from tests.browser.visits import Visits

from askbus.access import verbs
from askbus.db.pool import Pool
from askbus.testing.people import Company


async def link(pool: Pool, company: Company, who: str) -> str:
    code = await verbs.create_login_code(pool, company.workspace_id, company[who].id)
    return f"/#login={code}"


@pytest.mark.requirement("I1", "I2", "W10")
async def test_a_link_signs_in_once_and_leaves_the_address(visit: Visits, pool: Pool, company: Company) -> None:
    """The code is gone from address and history at once, nothing is kept where scripts could read it, and it works no more."""
    address = await link(pool, company, "mia")
    page = await visit(None, address)
    await expect(page.get_by_role("heading", name=re.compile("mia"))).to_be_visible()
    assert page.url == f"{visit.askbus.http}/"
    assert await page.evaluate("[document.cookie, localStorage.length, sessionStorage.length, history.length]") == ["", 0, 0, 2]

    other = await visit(None, address)
    await expect(other.get_by_role("alert")).to_contain_text("This sign-in link was used already or is too old.")
    await expect(other.get_by_role("heading", name="Sign in to askbus")).to_be_visible()
    assert other.url == f"{visit.askbus.http}/"


async def test_who_is_not_signed_in_is_told_how_to_come_by_a_link(visit: Visits) -> None:
    """Beside the form: a first link comes from whoever runs askbus."""
    page = await visit(None)
    await page.get_by_text("With a link").click()
    await expect(page.get_by_text("Ask whoever runs askbus here for a link")).to_be_visible()


async def test_a_link_opened_by_somebody_signed_in_asks_first(visit: Visits, pool: Pool, company: Company) -> None:
    """A page elsewhere could lead a person to a link of its own, so that they act in another's name without knowing."""
    page = await visit("mia")
    await expect(page.get_by_role("heading", name=re.compile("mia"))).to_be_visible()
    address = await link(pool, company, "max")
    await page.evaluate("address => { location.href = address }", address)
    await page.get_by_role("button", name="Stay mia").click()
    await expect(page.get_by_role("heading", name=re.compile("mia"))).to_be_visible()

    await page.evaluate("address => { location.href = address }", address)
    await page.get_by_role("button", name="Use the link").click()
    await expect(page.get_by_role("heading", name=re.compile("max"))).to_be_visible()


@pytest.mark.requirement("S8")
async def test_signing_out_ends_every_tab_of_the_session(visit: Visits) -> None:
    """The other tab learns it from its stream, and shows nothing of the workspace any more."""
    context = await visit.context("mia")
    here, there = await visit.page(context), await visit.page(context)
    await expect(there.get_by_text("Nothing is waiting.")).to_be_visible()
    await here.get_by_role("button", name="Signed in as mia").click()
    await here.get_by_role("button", name="Sign out").click()
    for page in (here, there):
        await expect(page.get_by_role("heading", name="Sign in to askbus")).to_be_visible()
        await expect(page.get_by_text("Nordlicht")).to_have_count(0)
