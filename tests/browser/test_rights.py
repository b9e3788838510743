"""Who may not, sees everything, can press nothing, and reads why."""

import pytest
from playwright.async_api import Page, expect
from tests.browser.visits import Visits

from askbus.access import verbs
from askbus.access.model import Role
from askbus.db.pool import Pool
from askbus.testing.composed import Composed
from askbus.testing.people import Company, give_token

VIEWER = "Viewers can only read. An admin of the workspace can change your role."
DEMO = "This is a demo account: it can look at everything and change nothing."


@pytest.fixture
async def scene(askbus: Composed, company: Company, pool: Pool) -> None:
    """A question that anybody may answer, one for Max alone, and a change to decide."""
    async with askbus.client(await give_token(pool, company["mia"])) as agent:
        where = {"project_id": str(company.north)}
        change = {"id": "a", "kind": "update", "collection": "customers", "record": 1, "values": {"country": "SE"}}
        for path, body in (
            ("questions", {**where, "text": "Ship it today?", "options": ["yes", "no"]}),
            ("questions", {**where, "text": "Is the door locked?", "assignee_id": str(company["max"].id)}),
            ("actions", {**where, "operations": [change]}),
        ):
            made = await agent.post(f"/v1/{path}", json=body)
            assert made.status_code == 201, made.text


async def nothing_to_press(page: Page, reason: str) -> None:
    """Every control of the open dialog is disabled, but for the one that closes it, and the reason is tied to them."""
    dialog = page.get_by_role("dialog")
    await expect(dialog.get_by_text(reason)).to_be_visible()
    controls = dialog.locator("button, input, textarea, select").and_(page.locator(":not([aria-label=Close])"))
    assert await controls.count() >= 2
    for control in await controls.all():
        await expect(control).to_be_disabled()
        if await control.is_visible():
            await expect(control).to_have_accessible_description(reason)


@pytest.mark.requirement("W4", "W5", "Q9")
@pytest.mark.parametrize(("who", "reason"), [("viewer", VIEWER), ("demo", DEMO)], ids=["viewer", "demo"])
async def test_viewers_and_demo_users_see_the_controls_disabled_with_the_reason(
    visit: Visits, scene: None, who: str, reason: str
) -> None:
    """Questions and changes can be read whole; the chat says why it is closed."""
    page = await visit(who)
    await expect(page.get_by_role("main").get_by_text(reason)).to_be_visible()
    await expect(page.get_by_label("Message")).to_be_disabled()
    await expect(page.get_by_role("button", name="Questions: 2 open, 0 for you")).to_be_visible()
    for row in ("Ship it today?", "Update customers Ada Lovelace: country"):
        await page.get_by_role("button", name=row).click()
        await nothing_to_press(page, reason)
        await page.keyboard.press("Escape")


@pytest.mark.requirement("W5", "Q4")
async def test_a_question_for_somebody_else_says_for_whom(visit: Visits, scene: None) -> None:
    """It is counted as open and not as one's own, and it can be read."""
    page = await visit("mia")
    await expect(page.get_by_role("button", name="Questions: 2 open, 1 for you")).to_be_visible()
    await page.get_by_role("button", name="Is the door locked?").click()
    await nothing_to_press(page, "Only max can answer this.")


@pytest.mark.requirement("I3", "S2", "W5")
async def test_a_role_that_changes_is_felt_at_once(visit: Visits, scene: None, company: Company, pool: Pool) -> None:
    """Made a viewer while the page is open: it closes what they may not do any more, without a reload."""
    page = await visit("max")
    await expect(page.get_by_role("button", name="Questions: 2 open, 2 for you")).to_be_visible()
    await expect(page.get_by_label("Message")).to_be_enabled()
    await verbs.set_member(pool, company.workspace_id, company["max"].id, Role.VIEWER)
    await expect(page.get_by_role("main").get_by_text(VIEWER)).to_be_visible()
    await page.get_by_role("button", name="Ship it today?").click()
    await nothing_to_press(page, VIEWER)


@pytest.mark.requirement("S2", "I3")
async def test_who_is_removed_from_a_project_sees_nothing_of_it_any_more(
    visit: Visits, scene: None, company: Company, pool: Pool
) -> None:
    """What was on the page leaves it at once."""
    page = await visit("max")
    await expect(page.get_by_role("button", name="Ship it today?")).to_be_visible()
    await verbs.remove_from_project(pool, company.workspace_id, company.north, company["max"].id)
    await expect(page.get_by_role("button", name="Questions: 0 open, 0 for you")).to_be_visible()
    await expect(page.get_by_text("Nothing is waiting.")).to_be_visible()
