"""Files in the console: chosen, dropped and pasted, sent with a message, seen again."""

import base64

import pytest
from playwright.async_api import FilePayload, Page, expect
from tests.browser.visits import Visits

from askbus.testing.files import picture
from askbus.testing.model_process import ScriptedModel

RED = FilePayload(name="red.png", mimeType="image/png", buffer=picture(size=(40, 40)))
NOTES = FilePayload(name="notes.txt", mimeType="text/plain", buffer=b"hello there")

BRING = """([element, kind, name, type, content]) => {
    const bytes = Uint8Array.from(atob(content), (letter) => letter.charCodeAt(0));
    const transfer = new DataTransfer();
    transfer.items.add(new File([bytes], name, { type }));
    const how = { bubbles: true, cancelable: true };
    element.dispatchEvent(kind === 'paste'
        ? new ClipboardEvent('paste', { ...how, clipboardData: transfer })
        : new DragEvent('drop', { ...how, dataTransfer: transfer }));
}"""


async def bring(page: Page, kind: str, file: FilePayload) -> None:
    """Drops a file on the composer, or pastes it."""
    element = await page.get_by_label("Message").element_handle()
    content = base64.b64encode(file["buffer"]).decode()
    await page.evaluate(BRING, [element, kind, file["name"], file["mimeType"], content])


async def seen(page: Page, name: str) -> None:
    """The picture is shown, and the browser could decode it."""
    shown = page.get_by_role("log").get_by_role("img", name=name)
    await expect(shown).to_be_visible()
    await expect(shown).to_have_js_property("naturalWidth", 40)


@pytest.mark.requirement("W2", "C14")
async def test_files_are_attached_sent_and_seen_again(visit: Visits, model: ScriptedModel) -> None:
    """One is chosen, one dropped, one pasted; one is taken back; the others go with the message and are there after a reload."""
    page = await visit("mia")
    waiting = page.get_by_role("list", name="Files to send")
    await page.get_by_label("Files", exact=True).set_input_files([RED])
    await expect(waiting.get_by_role("img", name="red.png")).to_be_visible()
    await bring(page, "drop", NOTES)
    await expect(waiting.get_by_text("notes.txt")).to_be_visible()
    await bring(page, "paste", FilePayload(name="other.png", mimeType="image/png", buffer=RED["buffer"]))
    await expect(waiting.get_by_role("img", name="other.png")).to_be_visible()
    await page.get_by_role("button", name="Remove other.png").click()
    await expect(waiting.get_by_role("img", name="other.png")).to_have_count(0)
    await page.get_by_label("Message").fill("look at this")
    await page.get_by_role("button", name="Send").click()
    await expect(page.get_by_text("A red square.")).to_be_visible()
    for _ in range(2):
        await seen(page, "red.png")
        await expect(page.get_by_role("link", name="notes.txt")).to_be_visible()
        await page.reload()
    await expect(waiting).to_be_hidden()
    assert "image_url" in str([request.body for request in await model.requests()])


@pytest.mark.requirement("W3", "C29")
async def test_a_picture_that_was_made_is_seen(visit: Visits) -> None:
    """It stands where the assistant made it, between the message and the words that follow, in each tab and after a reload."""
    context = await visit.context("mia")
    here = await visit.page(context)
    await here.get_by_label("Message").fill("draw a dot")
    await here.keyboard.press("Enter")
    await expect(here.get_by_text("There it is.")).to_be_visible()
    there = await visit.page(context, "/" + here.url.split("/", 3)[3])
    for page in (here, there):
        made = page.locator(".theirs").get_by_role("img", name="a dot.png")
        await expect(made).to_be_visible()
        await expect(made).to_have_js_property("naturalWidth", 1)
        boxes = [await made.bounding_box(), await page.get_by_text("There it is.").bounding_box()]
        assert boxes[0] is not None
        assert boxes[1] is not None
        assert boxes[0]["y"] < boxes[1]["y"]


@pytest.mark.requirement("W2", "C14")
async def test_a_file_that_is_not_taken_says_why_and_holds_nothing_up(visit: Visits) -> None:
    """The sentence is the server's; the message can be sent without it."""
    page = await visit("mia")
    wrong = FilePayload(name="notes.png", mimeType="image/png", buffer=NOTES["buffer"])
    await page.get_by_label("Files", exact=True).set_input_files([wrong])
    await expect(page.get_by_role("alert").filter(has_text="notes.png")).to_contain_text("text/plain")
    await page.get_by_label("Message").fill("look at this")
    await page.keyboard.press("Enter")
    await expect(page.get_by_text("A red square.")).to_be_visible()
