"""The AG-UI client, current and as others pin it, against the door: it checks every event and every order of events by itself."""

from collections.abc import AsyncIterator
from typing import Any

import pytest
from tests.frontends.stage import Player, Stage, a_name, player

pytestmark = pytest.mark.requirement("C26")
CURRENT, PINNED = "@ag-ui/client", "ag-ui-client-0.0.59"


@pytest.fixture(scope="module", params=[CURRENT, PINNED])
async def client(request: pytest.FixtureRequest) -> AsyncIterator[Player]:
    """The client of this version."""
    async with player("agui", request.param) as playing:
        playing.version = request.param
        yield playing


class Thread:
    """A thread in a front end."""

    def __init__(self, client: Player, stage: Stage, *, who: str = "mia", thread: str | None = None) -> None:
        self.client, self.stage, self.who = client, stage, who
        self.agent = a_name("agent")
        self.id = thread or a_name("thread")

    async def open(self, *, gateway: int = 0, **more: Any) -> "Thread":
        headers = self.stage.headers(self.stage.company[self.who])
        url = self.stage.url("ag-ui", gateway=gateway)
        await self.client("open", agent=self.agent, url=url, headers=headers, thread=self.id, **more)
        return self

    async def run(self, text: str | None = None, **more: Any) -> Any:
        said = {} if text is None else {"id": a_name("message"), "text": text}
        return await self.client("run", agent=self.agent, **{**said, **more})


def kinds(run: Any) -> list[str]:
    return [event["type"] for event in run["events"]]


def of(run: Any, kind: str) -> list[Any]:
    return [event for event in run["events"] if event["type"] == kind]


def last_text(run: Any) -> str:
    return next(str(message["content"]) for message in reversed(run["messages"]) if message["role"] == "assistant")


async def test_an_answer_comes_in_deltas_and_is_one_message(client: Player, stage: Stage) -> None:
    """From RUN_STARTED to a successful RUN_FINISHED, everything that was opened closed."""
    run = await (await Thread(client, stage).open()).run("good day")
    assert run["error"] is None
    text = "".join(event["delta"] for event in of(run, "TEXT_MESSAGE_CONTENT"))
    assert text == last_text(run) == "Good day to you, and to all the others."
    assert (kinds(run)[0], kinds(run)[-1]) == ("RUN_STARTED", "RUN_FINISHED")
    assert run["events"][-1]["outcome"] == {"type": "success"}


@pytest.mark.requirement("R8")
async def test_numbers_without_a_source_are_told_by_an_event(client: Player, stage: Stage) -> None:
    """The draft that went back to the model is taken back by a snapshot of the messages."""
    async with stage.asking_again():
        run = await (await Thread(client, stage).open()).run("guess")
    assert run["error"] is None
    assert [message["content"] for message in run["messages"] if message["role"] == "assistant"] == ["Then it is 1,234.09."]
    [told] = [event["value"] for event in of(run, "CUSTOM") if event["name"] == "askbus.ungrounded"]
    assert told == {"messageId": run["messages"][-1]["id"], "ungrounded": [{"text": "1,234.09", "start": 11, "end": 19}]}


async def test_what_tools_do_is_shown_without_arguments_and_results(client: Player, stage: Stage) -> None:
    """A call, its end and what became of it, between two steps."""
    run = await (await Thread(client, stage).open()).run("look")
    assert run["error"] is None
    assert [event["toolCallName"] for event in of(run, "TOOL_CALL_START")] == ["query_records"]
    assert [event["content"] for event in of(run, "TOOL_CALL_RESULT")] == ['{"state":"succeeded"}']
    assert [event["stepName"] for event in of(run, "STEP_STARTED")] == ["step 1", "step 3"]
    assert [message["content"] for message in run["messages"] if message["role"] == "assistant"] == ["Let me see.", "Seen."]


async def test_a_question_interrupts_the_run_and_is_resumed_with_its_answer(client: Player, stage: Stage) -> None:
    """The client tracks the interrupt by itself, and goes on where it was."""
    thread = await Thread(client, stage).open(state={"theirs": 1})
    asked = await thread.run("colour")
    assert asked["error"] is None
    [interrupt] = asked["pending"]
    assert (interrupt["reason"], interrupt["message"]) == ("input_required", "Red or blue?")
    assert interrupt["responseSchema"] == {"type": "string", "enum": ["red", "blue"]}
    assert kinds(asked)[-3:] == ["STATE_SNAPSHOT", "MESSAGES_SNAPSHOT", "RUN_FINISHED"]
    assert asked["state"]["theirs"] == 1
    assert asked["state"]["askbus"]["state"] == "waiting"

    resumed = await thread.run(responses={interrupt["id"]: {"status": "resolved", "payload": "blue"}})
    assert resumed["error"] is None
    assert [event["toolCallId"] for event in of(resumed, "TOOL_CALL_RESULT")] == [interrupt["toolCallId"]]
    assert of(resumed, "TOOL_CALL_START") == []
    stored = await stage.pool.fetchval(
        "SELECT o.context FROM turns o JOIN threads t ON t.id = o.thread_id WHERE t.client_id = $1", thread.id
    )
    assert stored == [{"label": "State", "text": '{"theirs":1}'}]
    assert last_text(resumed) == "You said: blue"
    assert resumed["pending"] == []


async def test_a_resume_covers_every_open_interrupt(client: Player, stage: Stage) -> None:
    """Half of it is refused with what is missing, before any of it counts."""
    thread = await Thread(client, stage).open()
    asked = await thread.run("two questions")
    first, second = [interrupt["id"] for interrupt in asked["pending"]]
    half = await thread.run(resume=[{"interruptId": first, "status": "resolved", "payload": "red"}])
    assert half["error"]["status"] == 400
    assert half["error"]["payload"]["details"] == {"missing": [second]}
    whole = await thread.run(
        resume=[
            {"interruptId": second, "status": "resolved", "payload": "it is warm"},
            {"interruptId": first, "status": "resolved", "payload": "red"},
        ]
    )
    assert last_text(whole) == "red, because it is warm"


async def test_a_pending_change_is_a_card_beside_a_finished_run(client: Player, stage: Stage) -> None:
    """Nothing waits for it: the run ends well, and the next message is answered."""
    thread = await Thread(client, stage).open()
    run = await thread.run(a_name("note"))
    assert run["error"] is None
    [card] = [message for message in run["messages"] if message["role"] == "activity"]
    assert (card["activityType"], card["content"]["state"]) == ("askbus.action", "pending")
    assert run["events"][-1]["outcome"] == {"type": "success"}
    assert last_text(await thread.run("good day")) == "Good day to you, and to all the others."


async def test_a_client_that_asks_for_it_is_interrupted_by_a_pending_change_and_approves_it(client: Player, stage: Stage) -> None:
    """Its call has no result until then; approved is what was shown, and the record has changed."""
    thread = await Thread(client, stage).open()
    blocking = {"approval": "blocking"}
    run = await thread.run(a_name("note"), props=blocking)
    [interrupt] = run["pending"]
    assert interrupt["reason"] == "tool_call"
    assert of(run, "TOOL_CALL_RESULT") == []
    done = await thread.run(responses={interrupt["id"]: {"status": "resolved", "payload": {"approved": True}}}, props=blocking)
    assert done["error"] is None
    assert [event["toolCallId"] for event in of(done, "TOOL_CALL_RESULT")] == [interrupt["toolCallId"]]
    assert [event["content"]["state"] for event in of(done, "ACTIVITY_SNAPSHOT")] == ["applied"]


async def test_a_client_that_is_interrupted_by_a_pending_change_rejects_it(client: Player, stage: Stage) -> None:
    """Denial is an answer too, and the run ends well."""
    thread = await Thread(client, stage).open()
    blocking = {"approval": "blocking"}
    [interrupt] = (await thread.run(a_name("note"), props=blocking))["pending"]
    done = await thread.run(responses={interrupt["id"]: {"status": "resolved", "payload": {"approved": False}}}, props=blocking)
    assert [event["content"]["state"] for event in of(done, "ACTIVITY_SNAPSHOT")] == ["rejected"]
    assert (done["pending"], done["events"][-1]["outcome"]) == ([], {"type": "success"})


async def test_a_failure_is_told_by_its_safe_code(client: Player, stage: Stage) -> None:
    """The provider's words stay here."""
    run = await (await Thread(client, stage).open()).run("broken")
    [error] = of(run, "RUN_ERROR")
    assert error["code"] == "model_refused"
    assert "secret words" not in str(run)


async def test_a_stopped_run_ends_as_the_client_understands_it(client: Player, stage: Stage) -> None:
    """The outcome `cancelled` goes to clients that know it; what had been said stays."""
    thread = await Thread(client, stage).open()
    run = await thread.run("for ever", then=stage.stop("ag-ui", thread.id))
    assert run["error"] is None
    assert run["events"][-1].get("outcome") == ({"type": "cancelled"} if client.version == CURRENT else None)
    assert last_text(run).startswith("One")


async def test_a_second_tab_joins_a_run_and_sees_its_end(client: Player, stage: Stage) -> None:
    """What was said before in one snapshot, then what is said now; from another gateway, since none of it is one gateway's."""
    first, text = await Thread(client, stage).open(), a_name("slowly")
    message = {"id": a_name("message"), "role": "user", "content": text}
    async with stage.client() as mia:
        running = {"threadId": first.id, "runId": "r", "messages": [message]}
        async with mia.stream("POST", stage.url("ag-ui"), json=running) as response:
            async for line in response.aiter_lines():
                if "TEXT_MESSAGE_CONTENT" in line:
                    break
            second = await Thread(client, stage, thread=first.id).open(gateway=1)
            joined = await second.run(then=stage.release(text))
    assert kinds(joined)[:2] == ["RUN_STARTED", "MESSAGES_SNAPSHOT"]
    assert joined["messages"][0] == message
    assert last_text(joined) == "One two three four."
    late = await (await Thread(client, stage, thread=first.id).open()).run()
    assert kinds(late) == ["RUN_STARTED", "MESSAGES_SNAPSHOT", "RUN_FINISHED"]
    assert last_text(late) == "One two three four."


@pytest.mark.requirement("C36")
async def test_an_unknown_thread_and_somebody_elses_begin_alike(client: Player, stage: Stage) -> None:
    """Mia's thread id in Max's hands is a name like any other: he gets his own, with nothing of hers in it."""
    hers = await Thread(client, stage).open()
    await hers.run("good day")
    stored = await stage.pool.fetchval("SELECT id FROM threads WHERE client_id = $1", hers.id)
    for name in (hers.id, str(stored), a_name("unknown")):
        his = await Thread(client, stage, who="max", thread=name).open()
        joined = await his.run()
        assert (kinds(joined), joined["messages"]) == (["RUN_STARTED", "MESSAGES_SNAPSHOT", "RUN_FINISHED"], [])
        run = await his.run("look")
        assert (run["error"], last_text(run)) == (None, "Seen.")
    again = await (await Thread(client, stage, thread=hers.id).open()).run()
    assert [message["role"] for message in again["messages"]] == ["user", "assistant"]


async def test_a_message_sent_again_is_answered_by_its_first_turn(client: Player, stage: Stage) -> None:
    """A client that did not hear the answer says the same again, under the same id."""
    thread, message = await Thread(client, stage).open(), a_name("message")
    await thread.run("good day", id=message)
    again = await Thread(client, stage, thread=thread.id).open()
    run = await again.run("good day", id=message)
    assert kinds(run) == ["RUN_STARTED", "MESSAGES_SNAPSHOT", "RUN_FINISHED"]
    assert last_text(run) == "Good day to you, and to all the others."
