"""All pages of one browser share one stream, through a worker."""

from pathlib import Path
from typing import Any

import pytest
from playwright.async_api import Page, expect
from tests.browser.conftest import Stack
from tests.browser.test_network import HIDE
from tests.browser.visits import Visits

from askbus.db.pool import Pool
from askbus.testing.people import Company
from askbus.testing.questions import open_question
from askbus.testing.waiting import until
from askbus_gateway.sse.hub import Hub

pytestmark = pytest.mark.requirement("S9")

SHOWN = (Path(__file__).parents[2] / "docs/frontends.md").read_text("utf-8").rpartition("```js\n")[2].partition("```")[0]
"""What the document says that a page of the team's own does."""
FOLLOW = (
    """async () => {
    globalThis.heard = [];
    const note = (what) => (...news) => heard.push([what, news.length > 1 ? news : news[0]]);
    const [showAll, show, hide, badge] = ['init', 'upsert', 'remove', 'badge'].map(note);
    """
    + SHOWN.replace('import { openFeed } from "/console/feed.js"', 'const { openFeed } = await import("/console/feed.js")')
    + "}"
)


async def streams(hub: Hub, company: Company, number: int) -> None:
    """Waits until this team has so many open."""

    async def there() -> bool:
        return len(hub._streams.get(company.workspace_id, ())) == number

    await until(there)


def requested(page: Page) -> list[str]:
    """The addresses that the page itself asks for from now on."""
    urls: list[str] = []
    page.on("request", lambda request: urls.append(request.url))
    return urls


@pytest.fixture
def hub(stack: Stack) -> Hub:
    return stack.hub


async def test_three_pages_hold_one_connection_and_rest_when_nobody_sees_any(
    visit: Visits, company: Company, pool: Pool, hub: Hub
) -> None:
    """Each is told everything; a page that comes later begins with what there is; the last one that is hidden ends it."""
    context = await visit.context("mia")
    pages: list[Page] = [await visit.page(context) for _ in range(3)]
    for page in pages:
        await expect(page.get_by_text("Nothing is waiting.")).to_be_visible()
    await streams(hub, company, 1)
    await open_question(pool, company["max"].principal, company.north, title="Ship it today?")
    for page in pages:
        await expect(page.get_by_role("button", name="Ship it today?")).to_be_visible()
    row = await pages[0].get_by_role("button", name="Ship it today?").element_handle()
    late = await visit.page(context)
    await expect(late.get_by_role("button", name="Questions: 1 open, 1 for you")).to_be_visible()
    await streams(hub, company, 1)
    await late.close()
    for page in pages[:2]:
        await page.evaluate(HIDE, True)
    await streams(hub, company, 1)
    await pages[2].close()
    await streams(hub, company, 0)
    await open_question(pool, company["max"].principal, company.north, title="And tomorrow?")
    await pages[0].evaluate(HIDE, False)
    for page in pages[:2]:
        await expect(page.get_by_role("button", name="And tomorrow?")).to_be_visible()
    assert await row.evaluate("it => it.isConnected"), "a click on it, while the list is read anew, would be lost"
    await streams(hub, company, 1)


async def test_a_page_of_the_teams_own_is_told_by_the_same_module(visit: Visits, company: Company, pool: Pool) -> None:
    """The code in the document gets ids and states, and the counts; with shared workers and without."""
    asked = await open_question(pool, company["max"].principal, company.north)
    for shared in (True, False):
        page = await visit.page(await visit.context("mia", shared=shared), "/console/mark.svg")
        requests = requested(page)
        await page.evaluate(FOLLOW)
        heard: dict[str, Any] = {}

        async def counted() -> bool:
            heard.update(await page.evaluate("heard"))  # noqa: B023  # awaited in this round
            return "badge" in heard  # noqa: B023

        await until(counted)
        assert [entity["id"] for entity in heard["init"]] == [str(asked.id)]
        assert heard["badge"] == [1, 1]
        assert not [url for url in requests if "counts" in url]
