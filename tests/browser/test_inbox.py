"""Questions from agents: counted, listed, answered, in every open tab."""

from collections.abc import AsyncIterator
from typing import Any

import httpx2
import pytest
from playwright.async_api import Page, expect
from tests.browser.visits import Visits

from askbus.db.pool import Pool
from askbus.testing.composed import Composed
from askbus.testing.people import Company, give_token


class Robot:
    """An agent of Mia's, who asks over HTTP."""

    def __init__(self, http: httpx2.AsyncClient, company: Company) -> None:
        self.http = http
        self.company = company

    async def asks(self, text: str, **more: object) -> str:
        asked = await self.http.post("/v1/questions", json={"project_id": str(self.company.north), "text": text, **more})
        assert asked.status_code == 201, asked.text
        return str(asked.json()["id"])

    async def question(self, question_id: str) -> Any:
        return (await self.http.get(f"/v1/questions/{question_id}")).json()


@pytest.fixture
async def robot(askbus: Composed, company: Company, pool: Pool) -> AsyncIterator[Robot]:
    """An agent with a token."""
    async with askbus.client(await give_token(pool, company["mia"])) as http:
        yield Robot(http, company)


def bell(page: Page, *, count: int, mine: int) -> Any:
    return expect(page.get_by_role("button", name=f"Questions: {count} open, {mine} for you"))


async def open_question(page: Page, text: str) -> None:
    await page.get_by_role("button", name=text).click()
    await expect(page.get_by_role("dialog", name="Question").get_by_role("button", name="Answer")).to_be_visible()


@pytest.mark.requirement("W5", "Q10", "Q11", "S3")
async def test_a_question_is_in_every_tab_and_leaves_every_tab(visit: Visits, robot: Robot) -> None:
    """Asked by an agent, seen by two people in three tabs without a reload, answered in one of them, gone from all."""
    context = await visit.context("mia")
    tabs = [await visit.page(context), await visit.page(context), await visit("max")]
    question_id = await robot.asks("Ship it today?", options=["yes", "no"])
    for tab in tabs:
        await bell(tab, count=1, mine=1).to_be_visible()
        await expect(tab.get_by_role("button", name="Ship it today?")).to_be_visible()
    await open_question(tabs[0], "Ship it today?")
    await tabs[0].get_by_role("radio", name="yes").check()
    await tabs[0].get_by_role("button", name="Answer").click()
    for tab in tabs:
        await bell(tab, count=0, mine=0).to_be_visible()
        await expect(tab.get_by_role("button", name="Ship it today?")).to_have_count(0)
    await expect(tabs[0].get_by_role("dialog")).to_have_count(0)
    stored = await robot.question(question_id)
    assert (stored["state"], stored["answer"], stored["settled_by_name"]) == ("answered", "yes", "mia")


@pytest.mark.requirement("W5", "W9")
async def test_a_question_is_answered_with_the_keyboard_alone(visit: Visits, robot: Robot) -> None:
    """From the bell to the sheet, the dialog, the option, the answer; the focus is never lost on the way."""
    question_id = await robot.asks("Which one?", options=["left", "middle", "right"])
    page = await visit("mia")
    await bell(page, count=1, mine=1).to_be_visible()
    await expect(page.get_by_label("Message")).to_be_focused()
    for _ in range(2):
        await page.keyboard.press("Shift+Tab")
    await expect(page.get_by_role("button", name="Questions: 1 open")).to_be_focused()
    await page.keyboard.press("Enter")
    await expect(page.get_by_role("dialog", name="Open questions")).to_be_visible()
    await page.keyboard.press("Tab")
    await expect(page.get_by_role("dialog").get_by_role("button", name="Which one?")).to_be_focused()
    await page.keyboard.press("Enter")
    await expect(page.get_by_role("radio", name="left")).to_be_focused()
    await page.keyboard.press("ArrowDown")
    await expect(page.get_by_role("radio", name="middle")).to_be_checked()
    await page.keyboard.press("Enter")
    await expect(page.get_by_role("dialog", name="Question", exact=True)).to_have_count(0)
    await expect(page.get_by_text("No open questions.")).to_be_visible()
    await page.keyboard.press("Escape")
    await expect(page.get_by_role("button", name="Questions: 0 open")).to_be_focused()
    assert (await robot.question(question_id))["answer"] == "middle"


@pytest.mark.requirement("W5", "W9")
async def test_the_focus_in_the_sheet_stays_while_other_questions_come(visit: Visits, robot: Robot) -> None:
    """The list is read anew under it."""
    await robot.asks("Which one?")
    page = await visit("mia")
    await page.get_by_role("button", name="Questions: 1 open").click()
    row = page.get_by_role("dialog").get_by_role("button", name="Which one?")
    await row.focus()
    await robot.asks("And which other?")
    await expect(page.get_by_role("dialog").get_by_role("button", name="And which other?")).to_be_visible()
    await expect(row).to_be_focused()


@pytest.mark.requirement("W5", "Q4")
async def test_several_options_with_own_words_make_a_list(visit: Visits, robot: Robot) -> None:
    """Check boxes; none at all is not an answer, and the page says so before the server has to."""
    question_id = await robot.asks("Which colours?", options=["red", "blue"], multiple=True)
    page = await visit("mia")
    await open_question(page, "Which colours?")
    await page.get_by_role("button", name="Answer").click()
    assert await page.get_by_role("checkbox", name="red").evaluate("box => box.validationMessage") == "Choose at least one."
    await page.get_by_role("checkbox", name="red").check()
    await page.get_by_role("checkbox", name="In my own words").check()
    await page.get_by_role("textbox", name="In my own words").fill("a little green")
    await page.get_by_role("button", name="Answer").click()
    await bell(page, count=0, mine=0).to_be_visible()
    assert (await robot.question(question_id))["answer"] == ["red", "a little green"]


SHIPPING = {
    "type": "object",
    "properties": {
        "carrier": {"type": "string", "enum": ["DHL", "UPS"], "title": "Carrier"},
        "parcels": {"type": "integer", "minimum": 1, "title": "Parcels"},
        "insured": {"type": "boolean", "title": "Insured"},
        "weight": {"type": "number", "title": "Weight"},
        "note": {"type": "string", "title": "Note", "maxLength": 20},
    },
    "required": ["carrier", "parcels"],
}


@pytest.mark.requirement("W5", "Q4")
async def test_a_schema_becomes_typed_fields(visit: Visits, robot: Robot) -> None:
    """A choice, a whole number, yes or no, a number, a text; what is optional and empty is left out of the answer."""
    question_id = await robot.asks("How do we ship it?", answer_schema=SHIPPING)
    page = await visit("mia")
    await open_question(page, "How do we ship it?")
    await page.get_by_label("Carrier").select_option("UPS")
    await page.get_by_label("Parcels").fill("0")
    await page.get_by_role("button", name="Answer").click()
    assert await page.get_by_label("Parcels").evaluate("field => field.validity.rangeUnderflow")
    await page.get_by_label("Parcels").fill("3")
    await page.get_by_label("Weight").fill("2.5")
    await page.get_by_role("radio", name="Yes").check()
    await page.get_by_role("button", name="Answer").click()
    await bell(page, count=0, mine=0).to_be_visible()
    assert (await robot.question(question_id))["answer"] == {"carrier": "UPS", "parcels": 3, "insured": True, "weight": 2.5}


@pytest.mark.requirement("W5", "Q4")
async def test_asking_back_keeps_the_question_and_declining_ends_it(visit: Visits, robot: Robot) -> None:
    """What was asked back stands on the question for everybody; what was typed as an answer meanwhile is kept."""
    question_id = await robot.asks("May I restart the server?")
    page = await visit("mia")
    await open_question(page, "May I restart")
    await page.get_by_label("Your answer").fill("Perhaps")
    await page.get_by_role("button", name="Ask back").click()
    await page.get_by_label("What do you need to know first?").fill("Which one?")
    await page.get_by_role("button", name="Ask back").click()
    await expect(page.get_by_role("dialog")).to_contain_text("You asked back")
    await expect(page.get_by_label("Your answer")).to_have_value("Perhaps")
    other = await visit("max")
    await open_question(other, "May I restart")
    await expect(other.get_by_role("dialog")).to_contain_text("mia asked back")

    await page.get_by_role("button", name="Decline").click()
    await page.get_by_label("Why not?").fill("Not on a Friday.")
    await page.get_by_role("button", name="Decline").click()
    await bell(page, count=0, mine=0).to_be_visible()
    await expect(other.get_by_role("dialog")).to_contain_text("Declined by mia")
    await expect(other.get_by_role("dialog")).to_contain_text("Not on a Friday.")
    stored = await robot.question(question_id)
    assert (stored["state"], stored["reason"], [note["text"] for note in stored["notes"]]) == (
        "declined",
        "Not on a Friday.",
        ["Which one?"],
    )


@pytest.mark.requirement("Q4")
async def test_who_answers_second_is_shown_the_first_answer(visit: Visits, robot: Robot) -> None:
    """The open dialog turns into the answer that won, with the refusal beside it if this person pressed too."""
    await robot.asks("Left or right?", options=["left", "right"])
    page, other = await visit("mia"), await visit("max")
    await open_question(page, "Left or right?")
    await open_question(other, "Left or right?")
    await other.get_by_role("radio", name="left").check()
    await other.get_by_role("button", name="Answer").click()
    await expect(page.get_by_role("dialog")).to_contain_text("Answered by max")
    await expect(page.get_by_role("dialog").get_by_text("left", exact=True)).to_be_visible()
    await expect(page.get_by_role("dialog").get_by_role("button", name="Answer")).to_have_count(0)


HOSTILE = "<img src=x onerror=\"document.title='owned'\"><b>Bold?</b>"


@pytest.mark.requirement("Q11", "Q12", "W5")
async def test_what_is_seen_put_off_and_escalated_shows_in_every_tab(
    visit: Visits, robot: Robot, company: Company, pool: Pool
) -> None:
    """The most urgent first, with what is new marked; opening one makes it seen in the other tab too, putting it off takes it from what is
    for this person and from nobody else; and markup in a question stays what somebody wrote."""
    calm = await robot.asks(HOSTILE)
    await robot.asks(
        "Is the site down?",
        priority="urgent",
        assignee_id=str(company["max"].id),
        escalate={"after": 1, "user_id": str(company["mia"].id)},
    )
    context = await visit.context("mia")
    page, tab = await visit.page(context), await visit.page(context)
    other = await visit("max")
    for shown in (page, tab):
        await expect(shown.get_by_role("button", name="Questions: 2 open, 2 for you, 2 not seen yet")).to_be_visible(
            timeout=15_000
        )
    rows = page.get_by_role("region", name="Waiting for a decision").get_by_role("listitem")
    await expect(rows.nth(0)).to_contain_text("escalated")
    await expect(rows.nth(1)).to_contain_text("not seen yet")
    await open_question(page, "Bold?")
    await expect(tab.get_by_role("button", name="Questions: 2 open, 2 for you, 1 not seen yet")).to_be_visible()
    await page.get_by_role("button", name="Later").click()
    await page.get_by_role("button", name="In an hour").click()
    await expect(page.get_by_role("dialog")).to_contain_text("Put off, back in 1 hour")
    for shown in (page, tab):
        await expect(shown.get_by_role("button", name="Questions: 2 open, 1 for you, 1 not seen yet")).to_have_count(1)
    await bell(other, count=2, mine=2).to_be_visible()
    await page.get_by_role("button", name="Bring back").click()
    await expect(tab.get_by_role("button", name="Questions: 2 open, 2 for you, 1 not seen yet")).to_be_visible()
    assert await page.title() != "owned"
    assert await page.locator("img[src=x]").count() == 0
    assert (
        await pool.fetchval(
            "SELECT count(*) FROM question_marks WHERE question_id = $1 AND user_id = $2", calm, company["mia"].id
        )
        == 1
    )


@pytest.mark.requirement("M9", "W5")
async def test_the_address_that_an_agent_is_given_opens_the_question(visit: Visits, robot: Robot, company: Company) -> None:
    """Whoever follows it in their own session has the question before them, and answers it there."""
    question_id = await robot.asks("Did the link work?", options=["yes", "no"])
    page = await visit("max")
    await page.goto(f"{page.url.partition('#')[0]}#question={question_id}")
    dialog = page.get_by_role("dialog", name="Question")
    await expect(dialog).to_contain_text("Did the link work?")
    await dialog.get_by_role("radio", name="yes").check()
    await dialog.get_by_role("button", name="Answer").click()
    await expect(dialog).to_be_hidden()
    assert (await robot.question(question_id))["answer"] == "yes"
