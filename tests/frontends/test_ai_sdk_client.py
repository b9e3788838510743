"""The AI SDK's own chat, over its own transport, against the door: it refuses every chunk that it does not know."""

import asyncio
import json
from collections.abc import AsyncIterator
from typing import Any

import pytest
from tests.frontends.stage import Player, Stage, a_name, player

from askbus.testing.waiting import until

pytestmark = pytest.mark.requirement("C36")


@pytest.fixture(scope="module")
async def client() -> AsyncIterator[Player]:
    """The client."""
    async with player("aisdk") as playing:
        yield playing


class Chat:
    """A chat in a front end."""

    def __init__(self, client: Player, stage: Stage, *, who: str = "mia", chat: str | None = None) -> None:
        self.client, self.stage, self.who = client, stage, who
        self.name = a_name("front end")
        self.id = chat or a_name("chat")

    async def open(self, *, gateway: int = 0, **more: Any) -> "Chat":
        headers = self.stage.headers(self.stage.company[self.who])
        url = self.stage.url("chat", gateway=gateway)
        await self.client("open", chat=self.name, id=self.id, url=url, headers=headers, **more)
        return self

    async def send(self, text: str, **more: Any) -> Any:
        return await self.client("send", chat=self.name, text=text, **more)

    async def answer(self, part: Any, output: object) -> Any:
        completed = {"tool": "ask_user", "toolCallId": part["toolCallId"], "output": output}
        return await self.client("complete", chat=self.name, output=completed)

    async def approve(self, part: Any, approved: object, *, send: bool = False) -> Any:
        approval = {"id": part["approval"]["id"], "approved": approved}
        return await self.client("complete", chat=self.name, approval=approval, send=send)


def kinds(seen: Any) -> list[str]:
    return [json.loads(chunk)["type"] for chunk in seen["chunks"] if chunk != "[DONE]"]


def parts(seen: Any, kind: str) -> list[Any]:
    return [part for part in seen["messages"][-1]["parts"] if part["type"] == kind]


def text(seen: Any) -> str:
    return "".join(part["text"] for part in parts(seen, "text"))


async def test_an_answer_comes_in_deltas_and_is_one_message(client: Player, stage: Stage) -> None:
    """Under the protocol's header, ended by its mark."""
    seen = await (await Chat(client, stage).open()).send("good day")
    assert (seen["status"], seen["error"], seen["header"]) == ("ready", None, "v1")
    assert text(seen) == "Good day to you, and to all the others."
    assert (kinds(seen)[0], kinds(seen)[-1], seen["chunks"][-1]) == ("start", "finish", "[DONE]")
    chunks = [json.loads(chunk) for chunk in seen["chunks"] if chunk != "[DONE]"]
    assert "".join(chunk["delta"] for chunk in chunks if chunk["type"] == "text-delta") == text(seen)


@pytest.mark.requirement("R8")
async def test_numbers_without_a_source_are_in_the_messages_metadata(client: Player, stage: Stage) -> None:
    """The draft that went back to the model is taken back; also for a front end that opens the conversation later."""
    chat = await Chat(client, stage).open()
    async with stage.asking_again():
        seen = await chat.send("guess")
    assert (text(seen), seen["error"]) == ("Then it is 1,234.09.", None)
    told = {"askbus": {"ungrounded": [{"text": "1,234.09", "start": 11, "end": 19}]}}
    assert seen["messages"][-1]["metadata"] == told
    async with stage.client() as mia:
        kept = (await mia.get(stage.url("chat", chat.id))).json()["messages"]
    assert (kept[-1]["metadata"], [part["text"] for part in kept[-1]["parts"] if part["type"] == "text"]) == (told, [text(seen)])


@pytest.mark.requirement("R8")
async def test_a_front_end_that_comes_while_the_answer_is_written_once_more_is_not_shown_the_draft(
    client: Player, stage: Stage
) -> None:
    """The draft is stored, what takes its place is not yet: the conversation so far has only what was asked."""
    chat = await Chat(client, stage).open()
    async with stage.asking_again():
        before = int(await stage.pool.fetchval("SELECT count(*) FROM messages WHERE nudged"))
        sending = asyncio.create_task(chat.send("guess slowly"))

        async def one_more() -> bool:
            return int(await stage.pool.fetchval("SELECT count(*) FROM messages WHERE nudged")) > before

        await until(one_more)
        async with stage.client() as mia:
            kept = (await mia.get(stage.url("chat", chat.id))).json()["messages"]
            release = stage.release("a guess")
            await mia.post(str(release["url"]), json=release["body"])
        seen = await sending
    assert [message["role"] for message in kept] == ["user"]
    assert text(seen) == "Then it is 1,234.09."


async def test_what_tools_do_is_shown_without_arguments_and_results(client: Player, stage: Stage) -> None:
    """A part that was executed here."""
    seen = await (await Chat(client, stage).open()).send("look")
    [part] = parts(seen, "tool-query_records")
    assert (part["state"], part["input"], part["output"], part["providerExecuted"]) == (
        "output-available",
        {},
        {"state": "succeeded"},
        True,
    )
    assert [part["text"] for part in parts(seen, "text")] == ["Let me see.", "Seen."]


async def test_a_question_is_a_tool_part_that_the_client_completes(client: Player, stage: Stage) -> None:
    """addToolOutput sends the message again by itself, and the message goes on."""
    chat = await Chat(client, stage).open()
    asked = await chat.send("colour")
    [part] = parts(asked, "tool-ask_user")
    assert part["state"] == "input-available"
    assert (part["input"]["text"], part["input"]["options"]) == ("Red or blue?", ["red", "blue"])
    answered = await chat.answer(part, "blue")
    assert answered["error"] is None
    assert [message["role"] for message in answered["messages"]] == ["user", "assistant"]
    assert text(answered) == "You said: blue"
    assert [part["state"] for part in parts(answered, "tool-ask_user")] == ["output-available"]


@pytest.mark.parametrize(
    ("approved", "state", "note"), [(True, "output-available", "applied"), (False, "output-denied", "rejected")]
)
async def test_a_pending_change_is_a_card_and_asks_for_approval(
    client: Player, stage: Stage, approved: bool, state: str, note: str
) -> None:
    """The decision is matched to the stored change; the answer was complete before it, and nothing waited."""
    chat = await Chat(client, stage).open()
    proposed = await chat.send(a_name("note"))
    assert text(proposed) == "I have proposed it."
    assert [part["data"]["state"] for part in parts(proposed, "data-action")] == ["pending"]
    [asks] = parts(proposed, "tool-confirm_changes")
    assert asks["state"] == "approval-requested"
    decided = await chat.approve(asks, approved)
    assert decided["error"] is None
    assert [part["state"] for part in parts(decided, "tool-confirm_changes")] == [state]
    assert [part["data"]["state"] for part in parts(decided, "data-action")] == [note]


async def test_a_failure_is_told_by_its_safe_sentence_and_code(client: Player, stage: Stage) -> None:
    """The provider's words stay here."""
    seen = await (await Chat(client, stage).open()).send("broken")
    assert (seen["status"], "provider refused" in seen["error"]) == ("error", True)
    assert [part["data"]["code"] for part in seen["data"] if part["type"] == "data-error"] == ["model_refused"]
    assert "secret words" not in str(seen)


async def test_a_stopped_answer_keeps_what_was_said(client: Player, stage: Stage) -> None:
    """Stopped at its own address; the stream ends, and says so."""
    chat = await Chat(client, stage).open()
    seen = await chat.send("for ever", then=stage.stop("chat", chat.id))
    assert (kinds(seen)[-1], seen["status"]) == ("abort", "ready")
    assert text(seen).startswith("One")


async def test_an_answer_is_resumed_from_its_beginning_after_a_reload(client: Player, stage: Stage) -> None:
    """A page that was closed comes back, to another gateway, while the answer is being given; when none is, there is nothing to resume."""
    closed, said = await Chat(client, stage).open(), a_name("slowly")
    message = {"id": a_name("message"), "role": "user", "parts": [{"type": "text", "text": said}]}
    async with stage.client() as mia:
        body = {"id": closed.id, "messages": [message], "trigger": "submit-message"}
        async with mia.stream("POST", stage.url("chat"), json=body) as response:
            async for line in response.aiter_lines():
                if "text-delta" in line:
                    break
        reloaded = await Chat(client, stage, chat=closed.id).open(gateway=1, messages=[message])
        seen = await client("resume", chat=reloaded.name, then=stage.release(said))
    assert text(seen) == "One two three four."
    assert kinds(seen)[0] == "start"
    again = await client("resume", chat=reloaded.name)
    assert (again["chunks"], again["status"]) == ([], "ready")


async def test_another_answer_keeps_the_first_one(client: Player, stage: Stage) -> None:
    """Regenerate is a turn of its own."""
    chat = await Chat(client, stage).open()
    first = await chat.send("good day")
    second = await client("regenerate", chat=chat.name)
    assert second["error"] is None
    assert second["messages"][-1]["id"] != first["messages"][-1]["id"]
    assert text(second) == "Good day to you, and to all the others."


async def test_an_unknown_chat_and_somebody_elses_begin_alike(client: Player, stage: Stage) -> None:
    """Mia's chat in Max's hands is his own."""
    hers = await Chat(client, stage).open()
    await hers.send("good day")
    his = await Chat(client, stage, who="max", chat=hers.id).open()
    assert (await client("resume", chat=his.name))["chunks"] == []
    assert text(await his.send("look")) == "Let me see.Seen."


async def test_a_reloaded_chat_begins_with_what_was_streamed_and_can_be_answered(client: Player, stage: Stage) -> None:
    """The same parts under the same ids: the open question is answered, the pending change approved, from a page that saw none of it."""
    chat = await Chat(client, stage).open()
    await chat.send(a_name("note"))
    streamed = await chat.send("colour")
    async with stage.client() as mia:
        stored = (await mia.get(stage.url("chat", chat.id))).json()["messages"]
    assert [(message["id"], message["role"]) for message in stored] == [
        (message["id"], message["role"]) for message in streamed["messages"]
    ]
    for was, kept in zip(streamed["messages"], stored, strict=True):
        assert sorted(part["type"] for part in was["parts"]) == sorted(part["type"] for part in kept["parts"])

    reloaded = await Chat(client, stage, chat=chat.id).open(messages=stored)
    [question] = [part for part in stored[-1]["parts"] if part["type"] == "tool-ask_user"]
    assert text(await reloaded.answer(question, "red")) == "You said: red"
    [asks] = [part for part in stored[1]["parts"] if part["type"] == "tool-confirm_changes"]
    decided = await reloaded.approve(asks, True, send=True)
    assert decided["error"] is None
    [shown] = [part for part in decided["messages"][1]["parts"] if part["type"] == "data-action"]
    assert shown["data"]["state"] == "applied"
