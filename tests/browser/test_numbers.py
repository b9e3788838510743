"""What a reader is told of numbers that have no source."""

import pytest
from playwright.async_api import expect
from tests.browser.test_chat import say
from tests.browser.visits import Visits

from askbus.access import choices
from askbus.access.model import NumberCheck
from askbus.db.pool import Pool
from askbus.testing.people import Company


@pytest.mark.requirement("R8", "W3")
async def test_a_number_without_a_source_is_marked_and_named_below(visit: Visits, pool: Pool, company: Company) -> None:
    """In the prose and not in code or links; also after a reload. The draft that went back to the model is folded."""
    await choices.set_number_check(pool, company.workspace_id, NumberCheck.ASK_AGAIN)
    page = await visit("mia")
    await say(page, "invent a figure")
    for _ in range(2):
        note = page.get_by_text("No source was found for 9,999.99, 3. Check before you rely on it.")
        await expect(note).to_be_visible()
        marks = page.locator(".prose mark")
        await expect(marks).to_have_text(["9,999.99", "3"])
        await expect(marks.first).to_have_attribute("title", "No source was found for this number.")
        await expect(page.locator(".prose strong mark")).to_have_count(1)
        await expect(page.get_by_text("It was 4,321.09 EUR.")).to_be_hidden()
        await page.get_by_text("First draft, replaced").click()
        await expect(page.get_by_text("It was 4,321.09 EUR.")).to_be_visible()
        await page.reload()
