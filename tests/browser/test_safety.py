"""What others wrote is text, wherever it is shown. A page that runs any of it, or breaks its policy, complains and fails its test."""

import pytest
from playwright.async_api import Page, expect
from tests.browser.visits import Visits

from askbus.db.pool import Pool
from askbus.testing.composed import Composed
from askbus.testing.people import Company, give_token
from askbus.testing.records import TeamDatabase

ATTACKS = (
    "<img src=x onerror=attack()>",
    "<script>attack()</script>",
    "[click](javascript:attack())",
    "![look](https://attacker.example/pixel.png)",
    '<a href="javascript:attack()">here</a>',
    "<style>body{display:none}</style>",
    "<svg onload=attack()><iframe srcdoc='<script>attack()</script>'>",
    "[home](/#login=stolen)",
)
ALL = "\n\n".join(ATTACKS)
LONG = f"{ALL}\n\n{ALL}"


async def unharmed(page: Page, *, seen: str) -> None:
    """Nothing that was written became an element that acts, nothing was fetched from elsewhere, and the words can be read."""
    await expect(page.get_by_text(seen).first).to_be_visible()
    made = "img:not([src^='/console/']), script:not([src^='/console/']), iframe, object, embed, style, svg:not(.icon)"
    assert await page.locator(made).count() == 0
    links = await page.locator("a").evaluate_all("links => links.map(link => [link.getAttribute('href'), link.rel, link.target])")
    for address, relation, target in links:
        own = address == "/"
        assert own or (address.startswith("https://") and "noopener" in relation and target == "_blank"), address


@pytest.mark.requirement("W3", "W5", "W10")
async def test_an_agents_question_is_text(visit: Visits, askbus: Composed, company: Company, pool: Pool) -> None:
    """Title, text, options, reference, schema and what was asked back: in the list, the sheet and the dialog."""
    async with askbus.client(await give_token(pool, company["mia"])) as agent:
        where = {"project_id": str(company.north), "title": ATTACKS[0], "text": ALL, "reference": ATTACKS[1]}
        fields = {ATTACKS[0]: {"type": "string", "title": ATTACKS[1], "description": ATTACKS[4]}}
        schema = {"type": "object", "properties": fields}
        for form in ({"options": list(ATTACKS)}, {"answer_schema": schema, "title": "A form"}):
            made = await agent.post("/v1/questions", json={**where, **form})
            assert made.status_code == 201, made.text
    page = await visit("mia")
    for name in ("A form", ATTACKS[0]):
        await page.get_by_role("button", name="Questions: ").click()
        await page.get_by_role("dialog").get_by_role("button", name=name).click()
        await unharmed(page, seen="<style>body{display:none}</style>")
        await page.keyboard.press("Escape")
        await page.keyboard.press("Escape")

    await page.get_by_role("button", name=ATTACKS[0]).click()
    await page.get_by_role("button", name="Ask back").click()
    await page.get_by_label("What do you need to know first?").fill(ATTACKS[0])
    await page.get_by_role("button", name="Ask back").click()
    await expect(page.get_by_text("You asked back")).to_be_visible()
    await page.get_by_role("radio", name="In my own words").check()
    await page.get_by_role("textbox", name="In my own words").fill(ALL)
    other = await visit("max")
    await other.get_by_role("button", name=ATTACKS[0]).click()
    await unharmed(other, seen="mia asked back")
    await page.get_by_role("button", name="Answer").click()
    await expect(other.get_by_text("Answered by mia")).to_be_visible()
    await unharmed(other, seen="<style>body{display:none}</style>")


@pytest.mark.requirement("W3", "W10")
async def test_messages_and_answers_are_text(visit: Visits) -> None:
    """The person's message comes back in the title, the bubble, the list of conversations and the assistant's Markdown."""
    page = await visit("mia")
    await page.get_by_label("Message").fill(ALL)
    await page.keyboard.press("Enter")
    await expect(page.get_by_text("You said: <img")).to_be_visible()
    await unharmed(page, seen="<style>body{display:none}</style>")
    await page.reload()
    await unharmed(page, seen="You said: <img")
    await page.get_by_role("button", name="Close the conversation").click()
    await unharmed(page, seen="<img src=x onerror=attack()>")


@pytest.mark.requirement("W4", "W10", "R13")
async def test_values_of_records_are_text(
    visit: Visits, askbus: Composed, company: Company, pool: Pool, shop: TeamDatabase
) -> None:
    """A record's label, its old and its new value, and the proposer's summary."""
    await shop.run(f"UPDATE customers SET name = '{ATTACKS[0]}', country = '{ATTACKS[1]}' WHERE id = 1")
    change = {"id": "a", "kind": "update", "collection": "customers", "record": 1, "values": {"country": LONG}}
    async with askbus.client(await give_token(pool, company["mia"])) as agent:
        body = {"project_id": str(company.north), "summary": ATTACKS[6], "operations": [change]}
        made = await agent.post("/v1/actions", json=body)
        assert made.status_code == 201, made.text
    page = await visit("mia")
    await page.get_by_role("button", name="Update customers").click()
    await unharmed(page, seen="<script>attack()</script>")
    await page.get_by_role("button", name="Show whole values").click()
    await expect(page.get_by_role("dialog")).to_contain_text("login=stolen")
    await page.get_by_role("button", name="Confirm").click()
    await expect(page.get_by_text("Applied", exact=True)).to_be_visible()
    await unharmed(page, seen="<script>attack()</script>")
    assert await shop.value("SELECT country FROM customers WHERE id = 1") == LONG


@pytest.mark.requirement("W10")
async def test_the_policy_holds_even_against_the_consoles_own_script(visit: Visits) -> None:
    """If a defect ever put markup into the page, the browser would refuse it: no markup from text, no inline script, no eval."""
    page = await (await visit.context("mia")).new_page()
    await page.goto(visit.askbus.http)
    refused = await page.evaluate("""() => {
        const names = [];
        for (const attempt of [
            () => { document.body.innerHTML = '<p>markup</p>'; },
            () => { document.createElement('script').textContent = 'attack()'; },
            () => { setTimeout('attack()'); },
        ]) {
            try { attempt(); names.push('allowed'); } catch (error) { names.push(error.name); }
        }
        return names;
    }""")
    assert refused == ["TypeError", "TypeError", "TypeError"]
