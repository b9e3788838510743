"""Conversations as a whole: found, named, taken away, deleted, and the same in every tab."""

import re

import pytest
from playwright.async_api import Page, expect
from tests.browser.visits import Visits


async def answered(page: Page, text: str) -> None:
    """Sends a message, and waits for the model's answer to it."""
    await page.get_by_label("Message").fill(text)
    await page.keyboard.press("Enter")
    await expect(page.get_by_text("A red square.")).to_be_visible()


@pytest.mark.requirement("C9", "S1")
async def test_a_conversation_is_renamed_found_exported_and_deleted(visit: Visits) -> None:
    """Its name is the person's in each tab at once; a word of its messages finds it; deleted it is gone everywhere."""
    page = await visit("max")
    await answered(page, "look at this <b>warehouse</b>")
    other = await visit("max", "/" + page.url.rpartition("/")[2])
    await expect(other.get_by_text("A red square.")).to_be_visible()

    await page.get_by_role("button", name="More").click()
    await page.get_by_role("button", name="Rename").click()
    await page.get_by_role("textbox", name="Name").fill("  Stock   of the north ")
    await page.keyboard.press("Enter")
    for tab in (page, other):
        await expect(tab.get_by_role("heading", name="Stock of the north")).to_be_visible()

    await page.get_by_role("button", name="More").click()
    async with page.expect_download() as download:
        await page.get_by_role("button", name="Download as Markdown").click()
    assert (await download.value).suggested_filename == "Stock of the north.md"

    await page.get_by_role("button", name="Close the conversation").click()
    await page.get_by_role("searchbox", name="Search conversations").fill("WAREHOUSE look")
    row = page.get_by_role("button", name="Stock of the north").filter(has_text="<b>warehouse</b>")
    await expect(row).to_be_visible()
    await page.get_by_role("searchbox", name="Search conversations").fill("nothing of the kind")
    await expect(row).to_have_count(0)
    await page.get_by_role("searchbox", name="Search conversations").fill("")
    await page.get_by_role("button", name=re.compile("Stock of the north")).click()

    await page.get_by_role("button", name="More").click()
    await page.get_by_role("button", name="Delete").click()
    await page.get_by_role("dialog").get_by_role("button", name="Delete").click()
    for tab in (page, other):
        await expect(tab.get_by_role("heading", name=re.compile("max"))).to_be_visible()
        await expect(tab.get_by_role("button", name=re.compile("Stock of the north"))).to_have_count(0)


@pytest.mark.requirement("C35", "S1")
async def test_a_temporary_conversation_is_in_no_list_until_it_is_kept(visit: Visits) -> None:
    """It says what it is, also after a reload; kept in one tab it is an ordinary one in the others too."""
    page = await visit("max")
    await page.get_by_role("checkbox", name="Temporary").check()
    await answered(page, "look at this, for a while")
    address = "/" + page.url.rpartition("/")[2]
    await expect(page.get_by_text("Temporary: in no list")).to_be_visible()
    await page.reload()
    await expect(page.get_by_text("Temporary: in no list")).to_be_visible()
    listed = await visit("max")
    row = listed.get_by_role("button", name="look at this, for a while")
    await expect(listed.get_by_text("No conversations yet.")).to_be_visible()

    other = await visit("max", address)
    await expect(other.get_by_text("Temporary: in no list")).to_be_visible()
    await page.get_by_role("button", name="Keep it").click()
    await expect(page.get_by_label("Message")).to_be_focused()
    for tab in (page, other):
        await expect(tab.get_by_text("Temporary: in no list")).to_be_hidden()
    await expect(row).to_be_visible()
