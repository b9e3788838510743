"""Files that go with messages: to the model, to the tools, and back to the people."""

import asyncio
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
from tests.doors.files.stage import Chat, conversing

from askbus.testing.files import pdf, picture, uploaded
from askbus.testing.model_process import ScriptedModel
from askbus.testing.servers import Server


def parts_of(body: Any) -> list[list[str]]:
    """The kinds of content parts of each user message."""
    users = [message["content"] for message in body["messages"] if message["role"] == "user"]
    return [[] if isinstance(content, str) else [part["type"] for part in content] for content in users]


@pytest.mark.requirement("C14")
async def test_pictures_and_pdf_files_go_to_the_model_beside_the_tools(chat: Chat) -> None:
    """As parts of the user's message, announced by name; a text is announced by its first lines; people see all of them again. A picture
    that is larger than models take is sent smaller."""
    thread_id = await chat.thread()
    files = [
        await chat.upload(picture(size=(8_001, 2)), "red.png"),
        await chat.upload(pdf("page one"), "report.pdf"),
        await chat.upload(b"hello there\n", "notes.txt"),
    ]
    assert (await chat.say(thread_id, "look at these", *files))["state"] == "completed"
    body = (await chat.asked("look at these"))[-1]
    [kinds] = parts_of(body)
    assert sorted(kinds) == ["file", "image_url", "text"]
    assert "data:image/jpeg;base64," in str(body)
    assert "hello there" in str(body)
    assert "read it with read_attachment" in str(body)
    assert {"read_attachment", "resolve_names"} <= {tool["function"]["name"] for tool in body["tools"]}
    [said, answer] = (await chat.client.get(f"/v1/threads/{thread_id}")).json()["messages"]
    assert [(file["id"], file["name"]) for file in said["attachments"]] == list(
        zip(files, ["red.png", "report.pdf", "notes.txt"], strict=True)
    )
    assert answer["attachments"] == []


@pytest.mark.requirement("C14")
async def test_only_the_latest_files_are_sent_again(chat: Chat) -> None:
    """Two at most here; older ones are named, so that the model knows that they were there."""
    thread_id = await chat.thread()
    for colour in ("red", "blue", "green"):
        await chat.say(thread_id, f"look at {colour}", await chat.upload(picture(colour=colour), f"{colour}.png"))
    body = (await chat.asked("look at green"))[-1]
    assert ["image_url" in kinds for kinds in parts_of(body)] == [False, True, True]
    assert "red.png" in str(body)
    assert "not sent again" in str(body)


@pytest.mark.requirement("C14", "C21", "C29")
async def test_a_model_that_takes_no_pictures_is_not_asked(
    postgres_server: Server, migrated_template: str, tmp_path: Path, model: ScriptedModel
) -> None:
    """The turn fails with its own code before any call; the message stays, the next one is answered, and a PDF with text can be read.
    Where nothing makes pictures the model is not told that something did, and a made-up call is refused."""
    async with conversing(postgres_server, migrated_template, tmp_path, model, images=False, documents=False) as chat:
        thread_id = await chat.thread()
        failed = await chat.say(thread_id, "blind look", await chat.upload(picture(), "red.png"))
        assert (failed["state"], failed["error"]["code"], failed["error"]["who"]) == ("failed", "files_not_accepted", "reader")
        scanned = await chat.say(thread_id, "blind look", await chat.upload(pdf(""), "scan.pdf"))
        assert scanned["error"]["code"] == "files_not_accepted"
        assert await chat.asked("blind look") == []
        answered = await chat.say(thread_id, "read the pages", await chat.upload(pdf("one", "two", "three"), "report.pdf"))
        assert answered["answer"] == "two of 3, null"
        first = (await chat.asked("blind look"))[0]
        assert "this model cannot see it" in str(first)
        assert "generate_image" not in str([tool["function"]["name"] for tool in first["tools"]])
        assert "Not run" in (await chat.say(await chat.thread(), "paint dots"))["answer"]
        assert await chat.pool.fetchval("SELECT count(*) FROM usage WHERE outcome = 'failed'") == 0


@pytest.mark.requirement("C14")
async def test_a_file_goes_with_one_conversation_of_its_owner(chat: Chat) -> None:
    """Somebody else's looks like none; one that has gone elsewhere is said to have; in its own thread it may be sent again."""
    async with chat.running.client(chat.company["max"]) as max_:
        his = await uploaded(max_, chat.company, picture(), "his.png")
    first, second = await chat.thread(), await chat.thread()
    mine = await chat.upload(b"x", "mine.txt")
    for unknown in (his, str(uuid4())):
        refused = await chat.send(first, "look", mine, unknown)
        assert (refused.status_code, refused.json()["message"]) == (404, "There is no such attachment.")
    assert (await chat.client.get(f"/v1/threads/{first}")).json()["messages"] == []
    await chat.say(first, "look", mine)
    assert (await chat.say(first, "and again", mine))["state"] == "completed"
    elsewhere = await chat.send(second, "look", mine)
    assert (elsewhere.status_code, elsewhere.json()["code"]) == (409, "conflict")
    kept = await chat.client.delete(f"/v1/attachments/{mine}", headers={"x-askbus": "1"})
    assert (kept.status_code, kept.json()["code"]) == (409, "conflict")
    late = await chat.upload(b"x", "late.txt")
    await chat.pool.execute("UPDATE attachments SET expires_at = now() WHERE id = $1", late)
    assert (await chat.send(second, "look", late)).status_code == 404
    await chat.pool.execute("UPDATE attachments SET expires_at = now() WHERE id = $1", mine)
    assert (await chat.client.get(f"/v1/attachments/{mine}")).json()["thread_id"] == first


@pytest.mark.requirement("C14", "C9")
async def test_a_thread_takes_its_files_with_it(chat: Chat) -> None:
    """Uploads, contents and pictures that were made; what waits elsewhere stays."""
    thread_id = await chat.thread()
    sent = await chat.upload(picture(), "red.png")
    await chat.say(thread_id, "paint dots", sent)
    waiting = await chat.upload(b"x", "waiting.txt")
    messages = (await chat.client.get(f"/v1/threads/{thread_id}")).json()["messages"]
    [uploaded_, made] = [file["id"] for message in messages for file in message["attachments"]]
    assert uploaded_ == sent
    deleted = await chat.client.delete(f"/v1/threads/{thread_id}", headers={"x-askbus": "1"})
    assert deleted.status_code in {200, 204}, deleted.text
    for gone in (sent, made):
        assert (await chat.client.get(f"/v1/attachments/{gone}")).status_code == 404
    assert (await chat.client.get(f"/v1/attachments/{waiting}")).status_code == 200
    left = await chat.pool.fetch("SELECT attachment_id FROM attachment_contents UNION ALL SELECT id FROM pictures")
    assert not {sent, made} & {str(row[0]) for row in left}


@pytest.mark.requirement("C14")
async def test_a_file_that_is_deleted_while_it_is_sent_is_sent_or_gone(chat: Chat) -> None:
    """Whichever comes first, the other is refused: no message points at nothing."""
    thread_id = await chat.thread()
    for _ in range(5):
        file_id = await chat.upload(b"x", "x.txt")
        sent, deleted = await asyncio.gather(
            chat.send(thread_id, "look", file_id), chat.client.delete(f"/v1/attachments/{file_id}", headers={"x-askbus": "1"})
        )
        assert (sent.status_code, deleted.status_code) in {(201, 409), (404, 204)}
    dangling = (
        "SELECT count(*) FROM messages m, unnest(m.attachments) f WHERE NOT EXISTS (SELECT FROM attachments a WHERE a.id = f)"
    )
    assert await chat.pool.fetchval(dangling) == 0


@pytest.mark.requirement("C31")
async def test_files_are_read_piece_by_piece(chat: Chat) -> None:
    """A window of text, a page, and a clear word for what has no text or is not in this conversation."""
    thread_id = await chat.thread()
    files = [
        await chat.upload("größer".encode("cp1252"), "notes.txt"),
        await chat.upload(pdf("one", "two", "three"), "report.pdf"),
        await chat.upload(picture(), "red.png"),
    ]
    assert (await chat.say(thread_id, "read the notes", *files))["answer"] == "größ of 6"
    assert (await chat.say(thread_id, "read the pages"))["answer"] == "two of 3, null"
    assert "has no text to read" in (await chat.say(thread_id, "read the picture"))["answer"]
    await chat.say(await chat.thread(), "look", await chat.upload(b"a,b\n1,2\n", "customers.csv"))
    missing = (await chat.say(thread_id, "read what is not here"))["answer"]
    assert "no such file" in missing
    assert "notes.txt" in missing
