"""A team that manages itself in the console: who is in it, what is in it, one's own tokens, and the audit log."""

import re

import pytest
from playwright.async_api import Page, expect
from tests.browser.test_looks import SIDEWAYS
from tests.browser.visits import Visits

from askbus.db.pool import Pool
from askbus.testing.composed import Composed
from askbus.testing.people import Agent, Company


async def opened(visit: Visits, who: str, section: str) -> Page:
    """A section of the settings, come to by the menu and the keyboard."""
    page = await visit(who)
    await page.get_by_role("button", name=f"Signed in as {who}").press("Enter")
    await page.get_by_role("button", name="Settings").press("Enter")
    await page.get_by_role("link", name=section).press("Enter")
    await expect(page.get_by_role("heading", name=section, level=1)).to_be_focused()
    return page


@pytest.mark.requirement("I3", "S2", "W7", "W9")
async def test_an_admin_lets_somebody_in_changes_their_role_and_lets_them_go(
    visit: Visits, askbus: Composed, company: Company, pool: Pool
) -> None:
    """By a link that is shown once; each page follows what happens on the other, without a reload."""
    page = await opened(visit, "admin", "Members")
    await expect(page.get_by_label("Role of owner")).to_be_disabled()
    await expect(page.get_by_label("Role of mia").get_by_role("option")).to_have_text(["Admin", "Member", "Viewer"])
    address = f"ada@{company.workspace_id.hex[-8:]}.example"
    await page.get_by_label("E-mail address").fill(address)
    await page.get_by_label("Role", exact=True).select_option("viewer")
    form = page.get_by_role("group", name="Sees these projects")
    await form.get_by_label("north").press("Space")
    await page.get_by_role("button", name="Make a link").press("Enter")
    await page.set_viewport_size({"width": 320, "height": 640})
    link = await page.get_by_label(f"Link for {address}", exact=True).input_value()
    await expect(page.get_by_role("button", name=f"Revoke the invitation of {address}")).to_be_visible()
    assert await page.evaluate(SIDEWAYS) == []
    await page.get_by_label("E-mail address").fill(address)
    await page.get_by_role("button", name="Make a link").press("Enter")
    await expect(page.get_by_role("alert")).to_contain_text("invited already")

    ada = await visit(None, "/#" + link.partition("#")[2])
    await expect(ada.get_by_role("heading", name=f"Join {await name_of(pool, company)}")).to_be_visible()
    assert ada.url == f"{askbus.http}/"
    await ada.get_by_label("What are you called?").fill("Ada")
    await ada.keyboard.press("Enter")
    await expect(ada.get_by_role("heading", name=re.compile("Ada"))).to_be_visible()
    await expect(ada.get_by_label("Message")).to_be_disabled()

    await expect(page.get_by_text("No invitation is pending.")).to_be_visible()
    await page.get_by_label("Role of Ada").select_option("member")
    await expect(ada.get_by_label("Message")).to_be_enabled()
    await expect(page.get_by_role("group", name="Projects of Ada").get_by_label("north")).to_be_checked()
    await page.get_by_label("Ada is a demo user").press("Space")
    await expect(ada.get_by_label("Message")).to_be_disabled()
    await page.get_by_role("button", name="Remove Ada").press("Enter")
    await page.get_by_role("button", name="Remove", exact=True).press("Enter")
    await expect(ada.get_by_role("heading", name="Sign in to askbus")).to_be_visible()
    await expect(page.get_by_label("Role of Ada")).to_have_count(0)

    again = await visit(None, "/#" + link.partition("#")[2])
    await expect(again.get_by_role("alert")).to_contain_text("was used or revoked already")


async def name_of(pool: Pool, company: Company) -> str:
    return str(await pool.fetchval("SELECT name FROM workspaces WHERE id = $1", company.workspace_id))


@pytest.mark.requirement("I1", "I4", "I10", "W7")
async def test_tokens_projects_and_the_workspace_are_managed_and_all_of_it_is_in_the_log(
    visit: Visits, askbus: Composed, company: Company, pool: Pool
) -> None:
    """A token is shown once and does what was ticked until it is revoked; a member has this section, apps, how agents are connected and
    the password alone."""
    page = await opened(visit, "mia", "API tokens")
    await expect(page.get_by_role("navigation", name="Settings").get_by_role("link")).to_have_count(4)
    await page.get_by_label("Name").fill("night shift")
    await page.get_by_label("Ask people").press("Space")
    await page.get_by_role("button", name="Make it").press("Enter")
    secret = await page.get_by_label("Token for night shift").input_value()
    robot = Agent(secret, company["mia"].principal)
    async with askbus.client(robot) as client:
        assert set((await client.get("/v1/me")).json()["principal"]["scopes"]) == {"data:read", "questions:ask"}
        await page.get_by_role("button", name="Revoke night shift").press("Enter")
        await expect(page.get_by_text("revoked", exact=True)).to_be_visible()
        assert (await client.get("/v1/me")).status_code == 401

    owner = await opened(visit, "owner", "Projects")
    await owner.get_by_role("textbox", name="Name").fill("west")
    await owner.get_by_role("button", name="Make it").press("Enter")
    await owner.get_by_role("button", name="Rename west").press("Enter")
    await owner.get_by_role("dialog").get_by_label("Name").fill("far west")
    await owner.keyboard.press("Enter")
    await expect(owner.get_by_role("button", name="Rename far west")).to_be_visible()

    await owner.get_by_role("link", name="Workspace").click()
    await owner.set_viewport_size({"width": 320, "height": 640})
    await owner.get_by_label("Time zone").fill("Mars/Olympus")
    assert await owner.evaluate(SIDEWAYS) == []
    await owner.get_by_role("button", name="Save").press("Enter")
    await expect(owner.get_by_role("alert")).to_contain_text("not the name of a time zone")
    await owner.get_by_label("Time zone").fill("Europe/Berlin")
    await owner.get_by_role("button", name="Save").press("Enter")
    await expect(owner.locator("form").get_by_text("Saved.")).to_be_visible()

    await owner.get_by_role("link", name="Audit log").click()
    await expect(owner.get_by_role("heading", name="Audit log", level=1)).to_be_focused()
    table = owner.get_by_role("table")
    for line in (
        ("owner", "workspace: changed"), ("owner", "project: renamed", "far west"), ("mia", "token: revoked", "night shift"),
    ):  # fmt: skip
        found = table.get_by_role("row")
        for part in line:
            found = found.filter(has_text=part)
        await expect(found).to_have_count(1)
    await owner.get_by_label("Show").select_option("token")
    await expect(table.get_by_role("row")).to_have_count(3)
    async with owner.expect_download() as download:
        await owner.get_by_role("link", name="CSV").click()
    lines = (await (await download.value).path()).read_text().splitlines()
    assert [line.split(",")[1] for line in lines] == ["event", "token.created", "token.revoked"]


@pytest.mark.requirement("M11")
async def test_how_an_agent_is_connected_is_shown_with_this_address(visit: Visits, askbus: Composed) -> None:
    """For the agent that one chooses, by keyboard, on a narrow screen; from there one makes a token."""
    page = await opened(visit, "mia", "Connect an agent")
    shown = page.locator("pre")
    await expect(shown.first).to_have_text(f"{askbus.http}/mcp")
    await page.set_viewport_size({"width": 320, "height": 640})
    await page.get_by_label("Your agent").select_option("Codex CLI")
    await expect(shown).to_have_count(2)
    await expect(shown.first).to_contain_text(f'url = "{askbus.http}/mcp"')
    await expect(shown.last).to_contain_text(f'ASKBUS_URL = "{askbus.http}"')
    await expect(page.get_by_text("askbus.example")).to_have_count(0)
    assert await page.evaluate(SIDEWAYS) == []
    await page.get_by_role("link", name="make one").press("Enter")
    await expect(page.get_by_role("heading", name="API tokens")).to_be_visible()
