"""A message that is answered once more: where that is safe, in every tab, and with what was there before."""

import json
import re

import pytest
from playwright.async_api import Page, Route, expect
from tests.browser.visits import Visits

from askbus.testing.model_process import ScriptedModel

REPLACED = "Earlier answer, replaced"


async def say(page: Page, text: str) -> None:
    """Writes a message and sends it."""
    await page.get_by_label("Message").fill(text)
    await page.keyboard.press("Enter")


@pytest.mark.requirement("C27", "C10", "W9")
async def test_what_was_stopped_is_tried_again_in_every_tab(visit: Visits, model: ScriptedModel) -> None:
    """By the keyboard; the new answer streams in both tabs, the old one stays as replaced, and a reload changes nothing."""
    context = await visit.context("mia")
    here = await visit.page(context)
    await say(here, "slowly, and then again")
    await expect(here.get_by_text("one two", exact=True)).to_be_visible()
    await here.get_by_role("button", name="Stop").click()
    await expect(here.get_by_text("Stopped.", exact=True)).to_be_visible()
    there = await visit.page(context, "/" + here.url.split("/", 3)[3])
    await expect(there.get_by_role("button", name="Try again")).to_be_visible()

    await here.get_by_role("button", name="Try again").press("Enter")
    await expect(here.get_by_label("Message")).to_be_focused()
    for page in (here, there):
        await expect(page.get_by_text("one two", exact=True).filter(visible=True)).to_have_count(1)
        await expect(page.get_by_role("button", name="Stop")).to_be_visible()
        await expect(page.get_by_text("Stopped.", exact=True)).to_be_hidden()
    await model.release("slowly, and then again")
    for _ in range(2):
        for page in (here, there):
            await expect(page.get_by_text("one two three four", exact=True)).to_be_visible()
            await expect(page.get_by_role("button", name="Answer again")).to_have_count(1)
            await expect(page.get_by_role("button", name="Try again")).to_have_count(0)
            await expect(page.locator(".mine")).to_have_count(1)
            await page.get_by_text(REPLACED).press("Enter")
            await expect(page.get_by_text("one two", exact=True)).to_be_visible()
            await expect(page.get_by_text("Stopped.", exact=True)).to_be_visible()
            await page.reload()


@pytest.mark.requirement("C27", "C10")
async def test_the_last_answer_is_given_again_and_an_earlier_one_is_not(visit: Visits) -> None:
    """The button stands at the last answer alone; each answer that it replaces stays."""
    page = await visit("mia")
    for text in ("alpha", "beta"):
        await say(page, text)
        await expect(page.get_by_text(f"You said: {text}")).to_be_visible()
        await expect(page.locator(".turn").last.get_by_role("button", name="Answer again")).to_be_visible()
        await expect(page.get_by_role("button", name="Answer again")).to_have_count(1)
    for replaced in (1, 2):
        await page.get_by_role("button", name="Answer again").click()
        await expect(page.get_by_text(REPLACED)).to_have_count(replaced)
        await expect(page.get_by_text("You said: beta")).to_have_count(replaced + 1)
        await expect(page.locator(".turn").last.get_by_role("button", name="Answer again")).to_be_visible()
    for _ in range(2):
        await expect(page.get_by_text("You said: beta").filter(visible=True)).to_have_count(1)
        await expect(page.get_by_text("You said: beta")).to_have_count(3)
        await expect(page.get_by_text("You said: alpha")).to_have_count(1)
        await expect(page.locator(".mine")).to_have_count(2)
        await page.reload()
    await say(page, "gamma")
    await expect(page.get_by_text("You said: gamma")).to_be_visible()
    await expect(page.locator(".mine")).to_have_text([re.compile(word) for word in ("alpha", "beta", "gamma")])
    await expect(page.locator(".turn").last.get_by_role("button", name="Answer again")).to_be_visible()
    await expect(page.get_by_role("button", name="Answer again")).to_have_count(1)


@pytest.mark.requirement("C27", "C10")
async def test_what_failed_is_tried_again_where_it_stands(visit: Visits) -> None:
    """The answer comes below its message, before what was said since, also in a tab that only watches and after a reload."""
    context = await visit.context("mia")
    here = await visit.page(context)
    await say(here, "such a bad week")
    await expect(here.get_by_role("button", name="Try again")).to_be_visible()
    await say(here, "gamma")
    await expect(here.get_by_text("You said: gamma")).to_be_visible()
    there = await visit.page(context, "/" + here.url.split("/", 3)[3])
    await expect(there.get_by_text("You said: gamma")).to_be_visible()
    await here.get_by_role("button", name="Try again").click()
    failed, answered = re.compile("provider refused"), re.compile("It was better then.")
    for _ in range(2):
        for page in (here, there):
            turns = page.locator(".turn")
            await expect(turns).to_have_text([failed, answered, re.compile("You said: gamma")])
            await expect(page.get_by_role("button", name="Try again")).to_have_count(0)
            await page.reload()


@pytest.mark.requirement("C27")
async def test_what_fails_again_can_be_tried_again(visit: Visits) -> None:
    """Each failure stays; the button stands at the last one."""
    page = await visit("mia")
    await say(page, "this is broken")
    await page.get_by_role("button", name="Try again").click()
    for _ in range(2):
        await expect(page.get_by_role("main").get_by_text("provider refused")).to_have_count(2)
        await expect(page.get_by_role("button", name="Try again")).to_have_count(1)
        await expect(page.locator(".turn").last.get_by_role("button", name="Try again")).to_be_visible()
        await page.reload()


@pytest.mark.requirement("C27")
async def test_trying_again_is_not_offered_where_it_is_not_safe(visit: Visits) -> None:
    """The server says so of a turn, for instance because a tool was begun that may not run twice."""

    async def unsafe(route: Route) -> None:
        response = await route.fetch()
        await route.fulfill(response=response, body=json.dumps({**await response.json(), "retry": False}))

    page = await visit("mia")
    await page.route(re.compile(r"/v1/turns/[0-9a-f-]+$"), unsafe)
    await say(page, "this is broken")
    await expect(page.get_by_role("main").get_by_text("provider refused")).to_be_visible()
    await say(page, "gamma")
    await expect(page.get_by_text("You said: gamma")).to_be_visible()
    await expect(page.get_by_text("scripted")).to_be_visible()
    await expect(page.get_by_role("button", name="again")).to_have_count(0)


LATE = """async () => {
    const { TurnView } = await import('/console/turn.js');
    const view = new TurnView({ me: await (await fetch('/v1/me')).json() }, null, () => {});
    view.settle([], { state: 'failed', error: { message: 'It was refused.' } }, []);
    view.offer(true);
    for (const event of ['step', 'cut']) view.take({ event, data: { step: 1, attempt: 1 } });
    return view.element.textContent;
}"""


@pytest.mark.requirement("C21")
async def test_a_piece_that_is_late_takes_nothing_from_the_outcome(visit: Visits) -> None:
    """The stored outcome may be read before the last pieces of the stream come."""
    page = await visit("mia")
    shown = await page.evaluate(LATE)
    assert "It was refused." in shown
    assert "Try again" in shown
