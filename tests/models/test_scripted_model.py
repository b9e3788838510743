"""The scripted model says what its script says, and shows what it was asked."""

import asyncio
import json
from collections.abc import AsyncIterator
from pathlib import Path

import httpx2
import pytest
from pydantic import JsonValue, ValidationError

import askbus.testing
from askbus.testing.model_process import ScriptedModel
from askbus.testing.script import ChatMessage, Script, ScriptError, Step

SAMPLE = Path(askbus.testing.__file__).parent / "scripts" / "sample.json"


def script(*entries: JsonValue) -> Script:
    """A script as its file would make it."""
    return Script.parse(json.dumps(entries))


def user(text: str) -> ChatMessage:
    """What the user said."""
    return ChatMessage(role="user", content=text)


def exchange(*results: str) -> list[ChatMessage]:
    """An assistant's message with its tools' results."""
    return [ChatMessage(role="assistant"), *(ChatMessage(role="tool", content=result) for result in results)]


def test_step_is_the_number_of_answers_since_the_user_spoke() -> None:
    """Earlier turns do not count; past the end the last step is repeated."""
    played = script({"when": "go", "steps": [{"text": "one"}, {"text": "two"}]})
    history = [user("go"), *exchange("r"), ChatMessage(role="assistant", content="x"), user("Go on, GO")]
    said = [played.cue([*history, *exchange() * count]).step.text for count in range(4)]
    assert said == ["one", "two", "two", "two"]


def test_first_entry_that_fits_speaks() -> None:
    """By a substring or a pattern; without either, by anything."""
    played = script(
        {"when": "aa", "steps": [{"text": "A"}]}, {"matching": "^b+$", "steps": [{"text": "B"}]}, {"steps": [{"text": "C"}]}
    )
    assert [played.cue([user(text)]).step.text for text in ["xAAx", "bb", "bbc"]] == ["A", "B", "C"]


def test_nothing_that_fits_is_said_so() -> None:
    """Whoever tries words of their own learns that this is a script, and what it knows."""
    assert "“largest orders”" in Script.load(SAMPLE).cue([user("what else?")]).step.text


def test_places_are_filled_from_results_words_and_match() -> None:
    """A text that is one place becomes the value itself; numbers are quoted as the tool wrote them."""
    arguments: JsonValue = {
        "id": "{{results[0].rows[0].id}}",
        "note": "{{match[1]}} of {{results[-1]}}",
        "all": ["{{ results[0].rows }}"],
    }
    played = script(
        {
            "matching": r"take (\w+)",
            "steps": [{}, {"text": "{{results[0].sum}}|{{said}}", "tool_calls": [{"name": "f", "arguments": arguments}]}],
        }
    )
    step = played.cue([user("please take three"), *exchange('{"rows": [{"id": 7}], "sum": 1234.50}', "plain")]).step
    assert step.text == "1234.50|please take three"
    assert step.tool_calls[0].arguments == {"id": 7, "note": "three of plain", "all": [[{"id": 7}]]}


@pytest.mark.parametrize("place", ["results[3]", "results[0].rows[0].id", "match[1]", "said.x"])
def test_place_that_leads_nowhere_is_an_error(place: str) -> None:
    """A script does not guess, and the error shows what there is."""
    with pytest.raises(ScriptError, match="leads nowhere"):
        script({"steps": [{"text": f"{{{{{place}}}}}"}]}).cue([user("q"), ChatMessage(role="tool", content='{"rows": []}')])


@pytest.mark.parametrize("entry", [{"wen": "x", "steps": [{}]}, {"steps": []}, {"steps": [{"txt": "x"}]}, {}])
def test_misspelt_script_is_refused(entry: JsonValue) -> None:
    """At the start, not in the middle of a demonstration."""
    with pytest.raises(ValidationError):
        script(entry)


def test_faults_can_be_taken_away() -> None:
    """What `times` does once they have happened often enough."""
    step = Step(text="x", hang=1, cut=2, hold="h", error_status=500, delay_ms=1)
    assert step.without_faults() == Step(text="x", delay_ms=1)


@pytest.fixture(scope="module")
async def model() -> AsyncIterator[ScriptedModel]:
    """The sample script in a process."""
    async with ScriptedModel(SAMPLE) as running:
        yield running


def request(text: str, **more: JsonValue) -> dict[str, JsonValue]:
    """A chat request as any client would send it."""
    return {"model": "m", "messages": [{"role": "user", "content": text}], **more}


async def test_wire_is_that_of_chat_completions(model: ScriptedModel) -> None:
    """The role first, then pieces, the finish, usage only when asked for, [DONE]; a call's arguments come in fragments."""
    async with httpx2.AsyncClient() as http:
        url = f"{model.base_url}/chat/completions"
        asked = await http.post(url, json=request("hello", stream=True, stream_options={"include_usage": True}))
        bare = await http.post(url, json=request("largest orders", stream=True))
    *events, done, last = asked.text.split("\n\n")
    assert (done, last) == ("data: [DONE]", "")
    chunks = [json.loads(event.removeprefix("data: ")) for event in events]
    assert chunks[0]["choices"][0]["delta"] == {"role": "assistant", "content": ""}
    assert [chunk["choices"][0]["finish_reason"] for chunk in chunks[:-1]] == [None] * (len(chunks) - 2) + ["stop"]
    assert chunks[-1]["choices"] == []
    assert chunks[-1]["usage"]["completion_tokens"] == len(chunks) - 3
    deltas = [json.loads(event[6:])["choices"][0]["delta"] for event in bare.text.split("\n\n")[:-2]]
    calls = [delta["tool_calls"][0] for delta in deltas if "tool_calls" in delta]
    assert [call["function"].get("name") for call in calls] == ["query_records", None, None, None, None] * 2
    pieces = "".join(call["function"]["arguments"] for call in calls if call["index"] == 1)
    assert json.loads(pieces) == {"collection": "orders", "aggregate": "sum"}
    assert "usage" not in bare.text


async def test_answer_without_streaming_is_one_body(model: ScriptedModel) -> None:
    """For clients that ask for that."""
    async with httpx2.AsyncClient() as http:
        response = await http.post(f"{model.base_url}/chat/completions", json=request("rename a to b"))
    choice = response.json()["choices"][0]
    assert choice["finish_reason"] == "tool_calls"
    assert json.loads(choice["message"]["tool_calls"][0]["function"]["arguments"]) == {"text": "a"}


async def test_requests_are_shown_as_they_came(model: ScriptedModel) -> None:
    """Body, key, and what became of them."""
    async with httpx2.AsyncClient(headers={"authorization": "Bearer k"}) as http:
        await http.post(f"{model.base_url}/chat/completions", json=request("hello, show this", stream=True))
    seen = [shown for shown in await model.requests() if "show this" in str(shown.body)]
    assert [(shown.authorization, shown.body, shown.states) for shown in seen] == [
        ("Bearer k", request("hello, show this", stream=True), ["open", "finished"])
    ]


async def test_script_that_cannot_go_on_refuses_the_request(model: ScriptedModel) -> None:
    """With its reason, so that the test that wrote it sees it."""
    lost: list[JsonValue] = [{"role": "user", "content": "largest orders"}, {"role": "assistant", "content": None}]
    async with httpx2.AsyncClient() as http:
        response = await http.post(f"{model.base_url}/chat/completions", json={"model": "m", "messages": lost})
    assert response.status_code == 400
    assert "leads nowhere" in response.json()["error"]["message"]


async def test_state_that_is_not_reached_is_told_with_those_that_were(model: ScriptedModel) -> None:
    """A test that waits in vain says for what."""
    with pytest.raises(TimeoutError, match="wanted 99 held"):
        await model.until("held", 99, timeout=0.01)


async def test_process_ends_with_its_context() -> None:
    """Nothing is left running."""
    async with ScriptedModel(SAMPLE) as running:
        base_url = running.base_url
    async with httpx2.AsyncClient() as http:
        with pytest.raises(httpx2.ConnectError):
            await http.get(base_url)


async def test_a_hold_that_was_opened_lets_everybody_go_on() -> None:
    """Two requests wait at the same hold, as two attempts at a step do, and a third comes later; another name is another hold."""
    steps: JsonValue = [{"text": "one two", "hold": "{{match[1]}}", "hold_after": 1}]
    async with ScriptedModel([{"matching": r"wait at (\w+)", "steps": steps}]) as model, httpx2.AsyncClient() as http:

        async def ask(name: str) -> str:
            return (await http.post(f"{model.base_url}/chat/completions", json=request(f"wait at {name}", stream=True))).text

        waiting = [asyncio.create_task(ask("blue")) for _ in range(2)]
        await model.until("held", 2)
        red = asyncio.create_task(ask("red"))
        await model.until("held", 3)
        await model.release("blue")
        answers = [*await asyncio.gather(*waiting), await ask("blue")]
        assert all("two" in answer for answer in answers)
        assert [request.state for request in await model.requests()].count("held") == 1
        await model.release("red")
        assert "two" in await red
