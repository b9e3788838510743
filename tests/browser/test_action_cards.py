"""Proposed changes: seen, decided, applied, undone."""

import pytest
from playwright.async_api import Page, expect
from tests.browser.visits import Visits

from askbus.db.pool import Pool
from askbus.testing.composed import Composed
from askbus.testing.people import Company, give_token
from askbus.testing.records import TeamDatabase

EMAIL = "SELECT email FROM customers WHERE id = 1"


async def propose(page: Page) -> None:
    """Asks for a change of Ada's address, which the assistant proposes."""
    await page.get_by_label("Message").fill("Please change the e-mail of Ada")
    await page.keyboard.press("Enter")
    await expect(page.get_by_role("button", name="Confirm")).to_be_enabled()


@pytest.mark.requirement("W4", "R13", "R17", "R19")
async def test_a_change_is_confirmed_applied_and_undone(visit: Visits, shop: TeamDatabase) -> None:
    """Old and new stand side by side; nothing is written before Confirm; what an undo would do is shown before it is done."""
    page = await visit("mia")
    await propose(page)
    article = page.get_by_role("article")
    await expect(article).to_contain_text("Ada Lovelace")
    await expect(article.get_by_role("row", name="email")).to_contain_text("ada@example.org")
    await expect(article.get_by_role("row", name="email")).to_contain_text("ada@lovelace.example")
    await expect(page.get_by_text("it is applied once you confirm it")).to_be_visible()
    assert await shop.value(EMAIL) == "ada@example.org"

    await article.get_by_role("button", name="Confirm").click()
    await expect(article.get_by_text("Applied", exact=True)).to_be_visible()
    assert await shop.value(EMAIL) == "ada@lovelace.example"

    await article.get_by_role("button", name="Undo").click()
    await expect(article).to_contain_text("Undoing puts this back:")
    assert await shop.value(EMAIL) == "ada@lovelace.example"
    await article.get_by_role("button", name="Undo now").click()
    await expect(article.get_by_text("Undone", exact=True)).to_be_visible()
    assert await shop.value(EMAIL) == "ada@example.org"
    await page.reload()
    await expect(article).to_contain_text("Undone by mia")


@pytest.mark.requirement("R19")
async def test_an_answer_that_claims_a_pending_change_as_done_is_marked(visit: Visits, shop: TeamDatabase) -> None:
    """The reader is told at once and after a reload; an answer that says that it waits is not marked."""
    page = await visit("mia")
    await propose(page)
    await expect(page.get_by_text("it is applied once you confirm it")).to_be_visible()
    marked = page.get_by_text("Nobody had confirmed that change")
    await expect(marked).to_have_count(0)
    await page.get_by_label("Message").fill("Please claim a change")
    await page.keyboard.press("Enter")
    await expect(marked).to_be_visible()
    await page.reload()
    await expect(marked).to_be_visible()
    await expect(marked).to_have_count(1)
    assert await shop.value("SELECT country FROM customers WHERE id = 1") == "UK"


@pytest.mark.requirement("W4", "R14")
async def test_a_change_is_rejected_with_a_reason(visit: Visits, shop: TeamDatabase) -> None:
    """Nothing is written, and the reason stands on the card."""
    page = await visit("mia")
    await propose(page)
    await page.get_by_role("button", name="Reject").click()
    await page.get_by_label("Reason").fill("The old one still works.")
    await page.get_by_role("button", name="Reject").click()
    await expect(page.get_by_role("article")).to_contain_text("Rejected by mia")
    await expect(page.get_by_role("article")).to_contain_text("The old one still works.")
    assert await shop.value(EMAIL) == "ada@example.org"


@pytest.mark.requirement("W4", "R15")
async def test_a_record_that_moved_on_is_a_conflict_with_both_values(visit: Visits, shop: TeamDatabase) -> None:
    """Somebody edited the field after the proposal: nothing is overwritten, and what was expected and found is shown."""
    page = await visit("mia")
    await propose(page)
    await shop.run("UPDATE customers SET email = 'ada@elsewhere.example' WHERE id = 1")
    await page.get_by_role("button", name="Confirm").click()
    article = page.get_by_role("article")
    await expect(article.get_by_text("Conflict", exact=True)).to_be_visible()
    await expect(article).to_contain_text("Nothing was changed")
    found = article.get_by_role("table", name="What was expected and what was found")
    await expect(found).to_contain_text("ada@example.org")
    await expect(found).to_contain_text("ada@elsewhere.example")


@pytest.mark.requirement("W4", "R17")
async def test_an_undo_that_would_overwrite_says_so_beforehand(visit: Visits, shop: TeamDatabase) -> None:
    """The dry run finds the edit; there is nothing to press but Close."""
    page = await visit("mia")
    await propose(page)
    await page.get_by_role("button", name="Confirm").click()
    await expect(page.get_by_role("button", name="Undo")).to_be_visible()
    await shop.run("UPDATE customers SET email = 'ada@elsewhere.example' WHERE id = 1")
    await page.get_by_role("button", name="Undo").click()
    article = page.get_by_role("article")
    await expect(article).to_contain_text("It cannot be undone as things are.")
    await expect(article).to_contain_text("ada@elsewhere.example")
    await expect(article.get_by_role("button", name="Undo now")).to_have_count(0)
    await article.get_by_role("button", name="Close").click()
    await expect(article.get_by_role("button", name="Undo")).to_be_visible()
    assert await shop.value(EMAIL) == "ada@elsewhere.example"


@pytest.mark.requirement("W1", "W4", "S3")
async def test_a_colleague_decides_and_the_proposers_card_follows(visit: Visits, shop: TeamDatabase) -> None:
    """A pending action is on everybody's home; decided there, it leaves all homes, and the card in the chat turns by itself."""
    page, colleague = await visit("mia"), await visit("max")
    await propose(page)
    row = colleague.get_by_role("button", name="Update customers Ada Lovelace: email")
    await row.click()
    dialog = colleague.get_by_role("dialog", name="Proposed change")
    await dialog.get_by_role("button", name="Confirm").click()
    await expect(dialog.get_by_text("Applied", exact=True)).to_be_visible()
    await expect(page.get_by_role("article")).to_contain_text("Confirmed by max")
    await colleague.keyboard.press("Escape")
    await expect(row).to_have_count(0)
    assert await shop.value(EMAIL) == "ada@lovelace.example"


@pytest.mark.requirement("W4", "R12", "R13", "R17")
async def test_new_records_are_shown_and_an_undo_removes_them(
    visit: Visits, askbus: Composed, company: Company, pool: Pool, shop: TeamDatabase
) -> None:
    """Two creates, one referring to the other by its name on the card: all or nothing, there and back."""
    customer = {"id": "c", "kind": "create", "collection": "customers", "values": {"name": "Grace Hopper", "country": "US"}}
    order = {"id": "o", "kind": "create", "collection": "orders", "values": {"customer_id": "$ref:c", "amount": "12.50"}}
    async with askbus.client(await give_token(pool, company["mia"])) as agent:
        body = {"project_id": str(company.north), "operations": [customer, order]}
        made = await agent.post("/v1/actions", json=body)
        assert made.status_code == 201, made.text
    page = await visit("mia")
    await page.get_by_role("button", name="Create customers Grace Hopper").click()
    dialog = page.get_by_role("dialog")
    await expect(dialog).to_contain_text("2 changes: all of them or none.")
    await expect(dialog.get_by_role("row", name="customer_id")).to_contain_text("the new record “Grace Hopper”")
    await dialog.get_by_role("button", name="Confirm").click()
    await expect(dialog.get_by_text("Applied", exact=True)).to_be_visible()
    count = "SELECT count(*) FROM orders o JOIN customers c ON c.id = o.customer_id WHERE c.name = 'Grace Hopper'"
    assert await shop.value(count) == 1
    await dialog.get_by_role("button", name="Undo").click()
    await expect(dialog).to_contain_text("Remove customers Grace Hopper")
    await dialog.get_by_role("button", name="Undo now").click()
    await expect(dialog.get_by_text("Undone", exact=True)).to_be_visible()
    assert await shop.value(count) == 0


@pytest.mark.requirement("W4", "R17")
async def test_the_rest_is_undone_where_a_part_was_edited_since(
    visit: Visits, askbus: Composed, company: Company, pool: Pool, shop: TeamDatabase
) -> None:
    """The dry run names what is in the way and offers the rest; afterwards the card says what was left as it is."""
    values = {"email": "ada@lovelace.example", "country": "SE"}
    async with askbus.client(await give_token(pool, company["mia"])) as agent:
        operation = {"id": "a", "kind": "update", "collection": "customers", "record": 1, "values": values}
        await agent.post("/v1/actions", json={"project_id": str(company.north), "operations": [operation]})
    page = await visit("mia")
    await page.get_by_role("button", name="Update customers Ada Lovelace").click()
    dialog = page.get_by_role("dialog")
    await dialog.get_by_role("button", name="Confirm").click()
    await expect(dialog.get_by_text("Applied", exact=True)).to_be_visible()
    await shop.run("UPDATE customers SET email = 'ada@elsewhere.example' WHERE id = 1")
    await dialog.get_by_role("button", name="Undo").click()
    await dialog.get_by_role("button", name="Undo the rest").click()
    await expect(dialog.get_by_text("Undone", exact=True)).to_be_visible()
    await expect(dialog).to_contain_text("What was edited since was left as it is:")
    await expect(dialog).to_contain_text("ada@elsewhere.example")
    assert await shop.rows("SELECT email, country FROM customers WHERE id = 1") == [("ada@elsewhere.example", "UK")]


@pytest.mark.requirement("W4", "R14")
async def test_a_card_shows_what_was_decided_on_each_of_its_operations(
    visit: Visits, askbus: Composed, company: Company, shop: TeamDatabase
) -> None:
    """One edited, one rejected with a reason: both stand on the card, and no word of all or none."""
    operations = [
        {"id": f"o{record}", "kind": "update", "collection": "customers", "record": record, "values": {"country": "SE"}}
        for record in (1, 2)
    ]
    async with askbus.client(company["max"]) as max_:
        body = {"project_id": str(company.north), "operations": operations}
        action = (await max_.post("/v1/actions", json=body)).json()
        page = await visit("mia")
        await page.get_by_role("button", name="Update customers Ada Lovelace").click()
        dialog = page.get_by_role("dialog")
        await expect(dialog).to_contain_text("2 changes: all of them or none.")
        decisions = [
            {"operation": "o1", "confirm": True, "values": {"country": "NO"}},
            {"operation": "o2", "confirm": False, "reason": "He lives in Paris."},
        ]
        await max_.post(f"/v1/actions/{action['id']}/decide", json={"digest": action["digest"], "decisions": decisions})
    await expect(dialog.get_by_text("Applied", exact=True)).to_be_visible()
    await expect(dialog).to_contain_text("Edited before it was confirmed. Proposed was: country SE")
    await expect(dialog).to_contain_text("Rejected: not part of the change.")
    await expect(dialog).to_contain_text("He lives in Paris.")
    await expect(dialog).not_to_contain_text("all of them or none")
    assert await shop.rows("SELECT country FROM customers WHERE id < 3 ORDER BY id") == [("NO",), ("FR",)]
