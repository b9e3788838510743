"""Proposed changes, decided one by one, undone together, proposed again, and allowed in advance."""

import pytest
from playwright.async_api import Locator, Page, expect
from tests.browser.visits import Visits

from askbus.testing.composed import Composed
from askbus.testing.people import Company
from askbus.testing.records import TeamDatabase

ADA = "SELECT email, country FROM customers WHERE id = 1"


async def say(page: Page, text: str) -> None:
    await page.get_by_label("Message").fill(text)
    await page.keyboard.press("Enter")


def card(page: Page, text: str) -> Locator:
    """The card that says this."""
    return page.get_by_role("article").filter(has_text=text)


@pytest.mark.requirement("W4", "R14", "R17")
async def test_values_are_edited_and_all_of_an_answer_is_undone_and_proposed_again(visit: Visits, shop: TeamDatabase) -> None:
    """A value that cannot be is refused at its field and nothing is decided; both changes of the answer go back together after a dry run,
    or for the rest where one was edited since; what was undone is proposed once more and is there after a reload."""
    page = await visit("mia")
    await say(page, "Please change two things about Ada")
    first, second = card(page, "email"), card(page, "country")
    await first.get_by_role("button", name="Edit first").click()
    field = first.get_by_role("textbox", name="email")
    await field.fill("e" * 70)
    await first.get_by_role("button", name="Confirm").click()
    await expect(field).to_be_focused()
    assert await field.get_attribute("aria-invalid") == "true"
    await expect(first).to_contain_text("at most 60 characters")
    await field.fill("ada@third.example")
    await page.keyboard.press("Enter")
    await expect(first.get_by_text("Applied", exact=True)).to_be_visible()
    await expect(first).to_contain_text("Proposed was: email ada@second.example")
    await second.get_by_role("button", name="Confirm").click()
    await expect(second.get_by_text("Applied", exact=True)).to_be_visible()
    assert await shop.rows(ADA) == [("ada@third.example", "SE")]

    together = page.locator(".together")
    await together.get_by_role("button", name="Undo all 2 changes").click()
    await expect(together).to_contain_text("Undoing puts this back:")
    await expect(together.get_by_role("table")).to_have_count(2)
    await together.get_by_role("button", name="Keep the changes").click()
    await shop.run("UPDATE customers SET country = 'NO' WHERE id = 1")
    await together.get_by_role("button", name="Undo all 2 changes").click()
    await expect(together).to_contain_text("It cannot be undone as things are")
    await expect(together).to_contain_text("The rest can be undone")
    await expect(together).to_contain_text("This was edited since and stays as it is:")
    assert await shop.rows(ADA) == [("ada@third.example", "NO")]
    await shop.run("UPDATE customers SET country = 'SE' WHERE id = 1")
    await together.get_by_role("button", name="Close").click()
    await together.get_by_role("button", name="Undo all 2 changes").click()
    await together.get_by_role("button", name="Undo now").click()
    await expect(together).to_contain_text("2 changes undone")
    assert await shop.rows(ADA) == [("ada@example.org", "UK")]

    await second.get_by_role("button", name="Propose again").click()
    again = second.filter(has_text="Waiting for a decision")
    await expect(again).to_be_visible()
    await expect(again).to_have_count(1)
    await page.reload()
    await expect(again).to_be_visible()
    await expect(page.get_by_role("article")).to_have_count(3)
    await again.get_by_role("button", name="Confirm").click()
    await expect(second.get_by_text("Applied", exact=True)).to_be_visible()
    assert await shop.rows(ADA) == [("ada@example.org", "SE")]


@pytest.mark.requirement("W4", "W9", "R14")
@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
async def test_operations_are_decided_one_by_one_on_a_small_screen_by_keyboard(
    dark: bool, visit: Visits, askbus: Composed, company: Company, shop: TeamDatabase
) -> None:
    """One is confirmed, one rejected with a reason; nothing is wider than the screen; in the dark it is left without deciding."""
    operations = [
        {"id": f"o{record}", "kind": "update", "collection": "customers", "record": record, "values": {"country": "SE"}}
        for record in (1, 2)
    ]
    async with askbus.client(company["max"]) as max_:
        await max_.post("/v1/actions", json={"project_id": str(company.north), "operations": operations})
    page = await visit.page(await visit.context("mia", width=320, height=640, dark=dark))
    await page.get_by_role("button", name="Update customers Ada Lovelace").click()
    dialog = page.get_by_role("dialog")
    await dialog.get_by_role("button", name="Decide one by one").focus()
    await page.keyboard.press("Enter")
    each = dialog.get_by_role("group")
    await expect(each).to_have_count(2)
    await expect(each.nth(0).get_by_role("checkbox", name="Confirm this")).to_be_focused()
    await each.nth(1).get_by_role("checkbox", name="Confirm this").focus()
    await page.keyboard.press("Space")
    await page.keyboard.press("Tab")
    await page.keyboard.type("He lives in Paris.")
    assert await dialog.evaluate("box => box.scrollWidth <= box.clientWidth")
    assert await page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    if dark:
        await dialog.get_by_role("button", name="Back").click()
        await expect(dialog.get_by_role("button", name="Decide one by one")).to_be_enabled()
        return
    await dialog.get_by_role("button", name="Confirm 1 of 2 changes").click()
    await expect(dialog.get_by_text("Applied", exact=True)).to_be_visible()
    await expect(dialog).to_contain_text("He lives in Paris.")
    assert await shop.rows("SELECT country FROM customers WHERE id < 3 ORDER BY id") == [("SE",), ("FR",)]


@pytest.mark.requirement("R20", "W4")
async def test_changes_like_one_are_allowed_in_a_conversation_and_revoked(visit: Visits, shop: TeamDatabase) -> None:
    """The card says in words what it would cover; the next such change is confirmed by it and says so; what it does not cover waits; it is
    listed, and ends when it is revoked."""
    page = await visit("mia")
    await say(page, "Please change the e-mail of Ada")
    first = page.get_by_role("article")
    await first.get_by_text("Allow changes like this in this conversation").click()
    await expect(first.locator(".covered")).to_contain_text("Update customers, one record at a time")
    await expect(first.locator(".covered")).to_contain_text("email: only “ada@lovelace.example”")
    await first.get_by_label("email", exact=True).select_option("any value")
    await expect(first.locator(".covered")).to_contain_text("email: any value")
    await first.get_by_role("button", name="Allow this").click()
    await expect(first).to_contain_text("Changes like this are allowed")
    await expect(first.get_by_role("button", name="Confirm")).to_be_enabled()
    assert await shop.rows(ADA) == [("ada@example.org", "UK")]

    await say(page, "Please change two things about Ada")
    standing = card(page, "ada@second.example")
    await expect(standing.get_by_text("Applied", exact=True)).to_be_visible()
    await expect(standing).to_contain_text("standing approval")
    await expect(card(page, "country").get_by_role("button", name="Confirm")).to_be_enabled()
    assert await shop.rows(ADA) == [("ada@second.example", "UK")]

    await page.get_by_role("button", name="Close the conversation").click()
    await page.get_by_role("button", name="Update customers: email: any value").click()
    dialog = page.get_by_role("dialog")
    await expect(dialog).to_contain_text("Used 1 of 10 times")
    await dialog.get_by_role("button", name="Revoke").click()
    await expect(dialog).to_contain_text("Revoked by mia")
    await expect(page.get_by_role("heading", name="Allowed without asking")).to_have_count(1)
