"""How the console fits: small screens, nothing that jumps, everything in reach of the keyboard."""

import pytest
from playwright.async_api import Page, expect
from tests.browser.visits import Visits

from askbus.db.pool import Pool
from askbus.testing.composed import Composed
from askbus.testing.model_process import ScriptedModel
from askbus.testing.people import Company, give_token

SIDEWAYS = """() => [document.documentElement, ...document.querySelectorAll('main, .scroller, dialog, .card')]
    .filter(element => element.scrollWidth > element.clientWidth + 1 && !element.closest('pre, .table'))
    .map(element => element.className || element.tagName)"""

WATCH_SHIFTS = """() => {
    window.shifts = [];
    new PerformanceObserver(list => window.shifts.push(...list.getEntries().flatMap(entry =>
        entry.sources.map(({ node, previousRect, currentRect }) => [node.className || node.nodeName, previousRect, currentRect]))))
        .observe({ type: 'layout-shift', buffered: false });
}"""


async def say(page: Page, text: str) -> None:
    await page.get_by_label("Message").fill(text)
    await page.keyboard.press("Enter")


@pytest.mark.requirement("W9")
async def test_a_phone_needs_no_sideways_scrolling(visit: Visits, askbus: Composed, company: Company, pool: Pool) -> None:
    """Long words, tables, code and cards at 320 pixels: what is wide scrolls in its own box, and the composer covers nothing."""
    async with askbus.client(await give_token(pool, company["mia"])) as agent:
        body = {"project_id": str(company.north), "title": "W" * 150, "text": "x" * 400, "options": ["y" * 190, "no"]}
        assert (await agent.post("/v1/questions", json=body)).status_code == 201
    page = await visit.page(await visit.context("mia", width=320, height=640))
    await expect(page.get_by_role("button", name="W" * 150)).to_be_visible()
    assert await page.evaluate(SIDEWAYS) == []
    await page.get_by_role("button", name="W" * 150).click()
    await expect(page.get_by_role("radio", name="no")).to_be_visible()
    assert await page.evaluate(SIDEWAYS) == []
    await page.keyboard.press("Escape")
    for count, text in enumerate(("show me a table", "change the e-mail", "z" * 300), 1):
        await say(page, text)
        await expect(page.get_by_text("scripted")).to_have_count(count)
    await expect(page.get_by_role("button", name="Stop")).to_be_hidden()
    assert await page.evaluate(SIDEWAYS) == []
    last, composer = page.get_by_text("scripted").last, page.locator(".composer")
    await expect(last).to_be_in_viewport()
    boxes = [await last.bounding_box(), await composer.bounding_box()]
    assert boxes[0] is not None
    assert boxes[1] is not None
    assert boxes[0]["y"] + boxes[0]["height"] <= boxes[1]["y"]


@pytest.mark.requirement("W9")
async def test_nothing_jumps_while_an_answer_streams(visit: Visits, model: ScriptedModel) -> None:
    """From the first word to the stored answer the browser counts no shift of anything that was on the page already."""
    page = await visit("mia")
    await say(page, "slowly, without a jump")
    await expect(page.get_by_text("one two", exact=True)).to_be_visible()
    await page.evaluate(WATCH_SHIFTS)
    await model.release("slowly, without a jump")
    await expect(page.get_by_text("one two three four", exact=True)).to_be_visible()
    await expect(page.get_by_text("scripted")).to_be_visible()
    await expect(page.get_by_role("button", name="Stop")).to_be_hidden()
    assert await page.evaluate("window.shifts") == []


@pytest.mark.requirement("W9")
async def test_every_control_has_a_name_and_shows_its_focus(visit: Visits) -> None:
    """Tab goes through the page in reading order; wherever it is, it can be seen."""
    page = await visit("mia")
    await expect(page.get_by_label("Message")).to_be_focused()
    await say(page, "change the e-mail of Ada")
    await expect(page.get_by_role("button", name="Confirm")).to_be_enabled()
    await expect(page.get_by_text("Work completed")).to_be_visible()
    await page.get_by_role("link", name="Nordlicht").focus()
    names: list[str] = []
    while "Message" not in names:
        focused = page.locator(":focus")
        names.append(await focused.evaluate("element => element.ariaLabel ?? element.textContent"))
        ring = "element => getComputedStyle(element.closest('.composer') ?? element).outlineStyle"
        if names[-1] != "Message":
            assert await focused.evaluate(ring) != "none", names
        await page.keyboard.press("Tab")
    assert names.pop(0).startswith("Nordlicht")
    assert names == [
        "Questions: 0 open, 0 for you",
        "Signed in as mia",
        "Close the conversation",
        "More",
        "Confirm",
        "Reject",
        "Edit first",
        "Allow changes like this in this conversation without asking…",
        "Work completed",
        "Answer again",
        "Message",
    ]
