"""The network is cut and comes back; pages rest while nobody sees them."""

import pytest
from playwright.async_api import Page, Route, expect
from tests.browser.visits import Visits

from askbus.db.pool import Pool
from askbus.testing.composed import Composed
from askbus.testing.model_process import ScriptedModel
from askbus.testing.people import Company, give_token

HIDE = """hidden => {
    Object.defineProperty(document, 'visibilityState', { configurable: true, get: () => (hidden ? 'hidden' : 'visible') });
    document.dispatchEvent(new Event('visibilitychange'));
}"""


async def ask(askbus: Composed, company: Company, pool: Pool, text: str) -> None:
    async with askbus.client(await give_token(pool, company["mia"])) as agent:
        asked = await agent.post("/v1/questions", json={"project_id": str(company.north), "text": text})
        assert asked.status_code == 201, asked.text


async def home(page: Page) -> None:
    await expect(page.get_by_text("Nothing is waiting.")).to_be_visible()


@pytest.mark.requirement("W9", "S4", "S9")
async def test_what_happened_while_the_network_was_cut_is_there_when_it_is_back(
    visit: Visits, askbus: Composed, company: Company, pool: Pool
) -> None:
    """The page says that it tries again, and catches up by itself."""
    context = await visit.context("mia", shared=False)
    page = await visit.page(context)
    await home(page)
    await context.set_offline(True)
    await expect(page.get_by_text("Connection lost.")).to_be_visible()
    await ask(askbus, company, pool, "Anybody there?")
    await context.set_offline(False)
    await expect(page.get_by_role("button", name="Anybody there?")).to_be_visible()
    await expect(page.get_by_text("Connection lost.")).to_be_hidden()


@pytest.mark.requirement("C25", "W9")
async def test_an_answer_goes_on_where_it_was_cut(visit: Visits, model: ScriptedModel) -> None:
    """The stream resumes after its last piece: no word is missing and none is there twice."""
    context = await visit.context("mia", shared=False)
    page = await visit.page(context)
    await page.get_by_label("Message").fill("slowly, cut off")
    await page.keyboard.press("Enter")
    await expect(page.get_by_text("one two", exact=True)).to_be_visible()
    await context.set_offline(True)
    await model.release("slowly, cut off")
    await context.set_offline(False)
    await expect(page.get_by_text("one two three four", exact=True)).to_be_visible()
    await expect(page.get_by_role("button", name="Stop")).to_be_hidden()


@pytest.mark.requirement("C8", "W9")
async def test_a_message_that_could_not_be_sent_is_kept_and_sent_once(visit: Visits) -> None:
    """It stays on the page, says that it was not sent, and goes out on request."""
    context = await visit.context("mia", shared=False)
    page = await visit.page(context)
    await page.get_by_label("Message").fill("hello")
    await page.keyboard.press("Enter")
    await expect(page.get_by_text("How are things?")).to_be_visible()
    await context.set_offline(True)
    await page.get_by_label("Message").fill("alpha")
    await page.keyboard.press("Enter")
    await expect(page.get_by_role("alert").get_by_text("Not sent.")).to_be_visible()
    await context.set_offline(False)
    await page.get_by_role("button", name="Try again").click()
    await expect(page.get_by_text("You said: alpha")).to_be_visible()
    await page.reload()
    await expect(page.get_by_text("You said: alpha")).to_have_count(1)


@pytest.mark.requirement("S9")
async def test_a_hidden_page_holds_no_connection_and_catches_up_when_it_is_seen(
    visit: Visits, askbus: Composed, company: Company, pool: Pool
) -> None:
    """Browsers open six connections to a server, however many tabs there are."""
    page = await visit.page(await visit.context("mia", shared=False))
    await home(page)
    async with page.expect_event("requestfailed", lambda request: request.url.endswith("/v1/events")):
        await page.evaluate(HIDE, True)
    await ask(askbus, company, pool, "Still there?")
    await expect(page.get_by_role("button", name="Questions: 0 open")).to_be_visible()
    async with page.expect_request("**/v1/events") as came_back:
        await page.evaluate(HIDE, False)
    assert (await (await came_back.value).all_headers())["last-event-id"]
    await expect(page.get_by_role("button", name="Still there?")).to_be_visible()


@pytest.mark.requirement("S9")
async def test_the_stream_comes_back_whatever_it_was_answered(
    visit: Visits, askbus: Composed, company: Company, pool: Pool
) -> None:
    """A proxy's error page, a gateway that starts, a broken connection: EventSource would have given up at the first."""
    context = await visit.context("mia", shared=False)
    left = ["busy", "starting", "broken"]

    async def answer(route: Route) -> None:
        match left.pop() if left else None:
            case "busy":
                await route.fulfill(status=502, body="<html>Bad gateway</html>", content_type="text/html")
            case "starting":
                await route.fulfill(status=503, body="{}", content_type="application/json")
            case "broken":
                await route.abort()
            case _:
                await route.continue_()

    await context.route("**/v1/events", answer)
    page = await visit.page(context)
    await home(page)
    await ask(askbus, company, pool, "Do you hear me?")
    await expect(page.get_by_role("button", name="Do you hear me?")).to_be_visible()
    await expect(page.get_by_role("button", name="Questions: 1 open, 1 for you")).to_be_visible()
    assert left == []
