"""A conversation: streamed, stopped, kept, and the same in every tab."""

import json
import re

import pytest
from playwright.async_api import Page, Route, expect
from tests.browser.visits import Visits

from askbus.testing.composed import Composed
from askbus.testing.model_process import ScriptedModel
from askbus.testing.people import Company


async def say(page: Page, text: str) -> None:
    """Writes a message and sends it."""
    await page.get_by_label("Message").fill(text)
    await page.keyboard.press("Enter")


@pytest.mark.requirement("W1", "W3", "C25")
async def test_an_answer_streams_and_is_there_after_a_reload(visit: Visits, model: ScriptedModel) -> None:
    """The conversation opens when the message is sent, text shows before the model is done, and the stored answer is the same."""
    page = await visit("mia")
    await say(page, "count slowly")
    await expect(page.get_by_role("heading", name="count slowly")).to_be_visible()
    await expect(page.get_by_text("one two", exact=True)).to_be_visible()
    await expect(page.get_by_role("heading", name=re.compile("Good"))).to_have_count(0)
    await model.release("count slowly")
    await expect(page.get_by_text("one two three four", exact=True)).to_be_visible()
    await expect(page.get_by_role("button", name="Stop")).to_be_hidden()

    await page.reload()
    await expect(page.get_by_text("one two three four", exact=True)).to_be_visible()
    await page.get_by_role("button", name="Close the conversation").click()
    await expect(page.get_by_role("heading", name=re.compile("mia"))).to_be_visible()
    await page.get_by_role("button", name=re.compile("count slowly")).click()
    await expect(page.get_by_text("one two three four", exact=True)).to_be_visible()
    await page.go_back()
    await expect(page.get_by_role("heading", name=re.compile("mia"))).to_be_visible()


@pytest.mark.requirement("W3", "C27")
async def test_the_tools_that_were_used_are_one_line_that_opens(visit: Visits) -> None:
    """What the assistant did, in words, without arguments; what a tool computed stands in the answer."""
    page = await visit("mia")
    await say(page, "What do the two largest orders come to?")
    await expect(page.get_by_text("Together they come to 600.60.")).to_be_visible()
    await expect(page.get_by_text("Read records")).to_be_hidden()
    await page.get_by_text("Work completed").click()
    await expect(page.get_by_text("Read records")).to_be_visible()


@pytest.mark.requirement("C27")
async def test_work_that_failed_says_so_and_shows_nothing_that_the_model_wrote(visit: Visits) -> None:
    """Fixed words, also after a reload: no name that was made up, no arguments."""
    page = await visit("mia")
    await say(page, "something made up")
    for _ in range(2):
        await expect(page.get_by_text("That did not work.")).to_be_visible()
        await page.get_by_text("Work completed · 1 did not work").click()
        await expect(page.get_by_text("Looked for a tool that is not there — did not work")).to_be_visible()
        await expect(page.get_by_text("leak")).to_have_count(0)
        await page.reload()


@pytest.mark.requirement("C5", "W2")
async def test_stop_keeps_what_was_said_and_says_that_it_was_stopped(visit: Visits) -> None:
    """The text so far stays, also after a reload."""
    page = await visit("mia")
    await say(page, "slowly, to be stopped")
    await expect(page.get_by_text("one two", exact=True)).to_be_visible()
    await page.get_by_role("button", name="Stop").click()
    for _ in range(2):
        await expect(page.get_by_text("Stopped.", exact=True)).to_be_visible()
        await expect(page.get_by_text("one two", exact=True)).to_be_visible()
        await expect(page.get_by_role("button", name="Stop")).to_be_hidden()
        await page.reload()


@pytest.mark.requirement("C25")
async def test_a_second_tab_watches_the_same_answer(visit: Visits, model: ScriptedModel) -> None:
    """A message sent in one tab is in the other without a reload, and so is what comes of it, while it comes."""
    context = await visit.context("mia")
    here = await visit.page(context)
    await say(here, "hello")
    await expect(here.get_by_text("How are things?")).to_be_visible()
    there = await visit.page(context, "/" + here.url.split("/", 3)[3])
    await expect(there.get_by_text("How are things?")).to_be_visible()
    await say(here, "slowly, in two tabs")
    for page in (here, there):
        await expect(page.get_by_text("one two", exact=True)).to_be_visible()
    await model.release("slowly, in two tabs")
    for page in (here, there):
        await expect(page.get_by_text("one two three four", exact=True)).to_be_visible()
        await expect(page.get_by_role("button", name="Stop")).to_be_hidden()


@pytest.mark.requirement("C6")
async def test_messages_sent_meanwhile_wait_for_their_turn(visit: Visits, model: ScriptedModel) -> None:
    """Each is answered, in the order in which they were written."""
    page = await visit("mia")
    await say(page, "slowly, before others")
    await expect(page.get_by_text("one two", exact=True)).to_be_visible()
    await say(page, "alpha")
    await say(page, "beta")
    await expect(page.get_by_role("log").get_by_text("Waiting for its turn")).to_have_count(2)
    await model.release("slowly, before others")
    await expect(page.get_by_text("You said: beta")).to_be_visible()
    said = await page.locator(".theirs").all_inner_texts()
    assert said == ["one two three four", "You said: alpha", "You said: beta"]


@pytest.mark.requirement("C1", "C21")
async def test_a_failure_is_told_in_the_readers_words(visit: Visits) -> None:
    """What the provider said stays in the log; the message stays on the page, also after a reload."""
    page = await visit("mia")
    await say(page, "this is broken")
    for _ in range(2):
        await expect(page.get_by_role("main").get_by_text("The model's provider refused the request.")).to_be_visible()
        await expect(page.locator(".mine")).to_contain_text("this is broken")
        await expect(page.get_by_text("secret provider words")).to_have_count(0)
        await page.reload()


@pytest.mark.requirement("Q7", "C3", "W5")
async def test_a_question_in_the_chat_is_answered_in_its_place(visit: Visits) -> None:
    """The turn waits; the answer goes on with it."""
    page = await visit("mia")
    await say(page, "which colour?")
    await expect(page.get_by_text("Waiting for your answer").last).to_be_visible()
    await page.get_by_role("radio", name="blue").check()
    await page.get_by_role("button", name="Answer").click()
    await expect(page.get_by_text("You chose blue.")).to_be_visible()
    await expect(page.get_by_role("article")).to_contain_text("Answered by mia")
    await page.reload()
    await expect(page.get_by_text("You chose blue.")).to_be_visible()
    await expect(page.get_by_role("article")).to_contain_text("Answered by mia")


@pytest.mark.requirement("C3", "C25")
async def test_what_a_turn_waits_for_is_said_whatever_is_told_first(visit: Visits, askbus: Composed, company: Company) -> None:
    """Its state comes by another way than the model's pieces, and may come before them."""
    page = await visit("mia")
    await say(page, "which colour?")
    await expect(page.get_by_role("radio", name="blue")).to_be_visible()
    async with askbus.client(company["mia"]) as mia:
        [question] = (await mia.get("/v1/questions", params={"state": "open"})).json()["questions"]
    state = {"id": question["turn_id"], "state": "waiting", "questions": [question["id"]], "actions": [], "error": None}
    calls = {"step": 1, "attempt": 1, "calls": [{"id": question["id"], "label": "Asking you"}]}

    async def turned_round(route: Route) -> None:
        body = f"event: turn\ndata: {json.dumps(state)}\n\nevent: calls\nid: 1-1\ndata: {json.dumps(calls)}\n\n"
        await route.fulfill(content_type="text/event-stream", body=body)

    await page.route("**/v1/turns/*/events", turned_round)
    await page.reload()
    await expect(page.get_by_role("main").get_by_text("Waiting for your answer")).to_be_visible()


@pytest.mark.requirement("C6", "Q5")
async def test_writing_on_takes_the_place_of_an_open_question(visit: Visits) -> None:
    """The card says what became of the question, and the turn that asked it ends."""
    page = await visit("mia")
    await say(page, "which colour?")
    await expect(page.get_by_role("radio", name="blue")).to_be_visible()
    await say(page, "never mind")
    await expect(page.get_by_text("You said: never mind")).to_be_visible()
    await expect(page.get_by_role("article")).to_contain_text("You wrote on instead of answering.")
    await expect(page.get_by_text("Your next message took its place.")).to_be_visible()


@pytest.mark.requirement("C10", "W2")
async def test_what_failed_is_answered_once_more_by_a_button(visit: Visits) -> None:
    """The message stands once, the failure stays above the answer, also after a reload."""
    page = await visit("mia")
    await say(page, "You have a bad day")
    await page.get_by_role("button", name="Try again").click()
    for _ in range(2):
        await expect(page.get_by_text("Now it works.")).to_be_visible()
        await expect(page.locator(".mine:visible")).to_have_count(1)
        await expect(page.get_by_role("button", name="Try again")).to_have_count(0)
        await expect(page.get_by_text("An admin should check its settings")).to_be_visible()
        await page.reload()
