"""Whatever state a history is in, what goes out satisfies the wire's pairing rules."""

import json
import random
from collections.abc import Sequence
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import JsonValue

from askbus.models.config import ModelConfig
from askbus.models.model import (
    AssistantMessage,
    Cut,
    JsonObject,
    Message,
    ModelRequest,
    ProviderData,
    ToolCall,
    ToolDefinition,
    ToolResult,
    UserMessage,
)
from askbus.models.openai_history import LONGEST_ID, request_body

pytestmark = pytest.mark.requirement("C12")

CASES = Path(__file__).parent.parent / "cases" / "history"
HERE = "openai http://here/v1 m"


def call(call_id: str, arguments: str = "{}", name: str = "describe", **more: object) -> ToolCall:
    """A call as the database gives it back."""
    return ToolCall.read(id=call_id, name=name, arguments_text=arguments, **more)  # type: ignore[arg-type]


def wire_messages(messages: Sequence[Message], maker: str, **more: object) -> list[JsonObject]:
    """The messages of the body for an endpoint that is configured like this."""
    config = ModelConfig.model_validate({"model": "m", **more})
    messages_on_wire = request_body(ModelRequest(system="", messages=tuple(messages)), config, maker=maker)["messages"]
    assert isinstance(messages_on_wire, list)
    return [message for message in messages_on_wire if isinstance(message, dict)]


def assert_valid(wire: list[JsonObject]) -> None:
    """OpenAI's rules: each call answered once, right after its message; no result without a call; no message without content."""
    waiting: list[JsonValue] = []
    for message in wire:
        if message["role"] == "tool":
            assert isinstance(message["content"], str)
            waiting.remove(message["tool_call_id"])
            continue
        assert not waiting, "a call was not answered"
        calls = message.get("tool_calls", [])
        assert message["content"] or calls or message["role"] == "user"
        assert isinstance(calls, list)
        for entry in calls:
            assert isinstance(entry, dict)
            function = entry["function"]
            assert isinstance(function, dict)
            assert isinstance(json.loads(str(function["arguments"])), dict)
            assert function["name"]
            waiting.append(entry["id"])
    assert not waiting, "a call was not answered"


def case(name: str) -> list[Message]:
    """The neutral messages of a case, with its expectations asserted to be those that the tests here know."""
    messages: list[Message] = []
    for neutral in json.loads((CASES / f"{name}.json").read_text())["neutral"]:
        if neutral["role"] == "user":
            messages.append(UserMessage(text=neutral["text"]))
            continue
        calls = tuple(
            call(entry["id"], entry.get("raw_arguments", json.dumps(entry.get("arguments"))), entry["name"])
            for entry in neutral["tool_calls"]
        )
        cut: Cut | None = "stopped" if neutral.get("aborted") else None
        messages.append(AssistantMessage(text=neutral.get("text", ""), tool_calls=calls, cut=cut))
    return messages


def test_stopped_calls_are_answered_with_why() -> None:
    """A07: the user stopped the answer and goes on; both calls get a result that says so, the unread arguments become {}."""
    wire = wire_messages(case("A07"), HERE)
    assert_valid(wire)
    assert [message["role"] for message in wire] == ["user", "assistant", "tool", "tool", "user"]
    assert [message["content"] for message in wire if message["role"] == "tool"] == ["not executed: stopped by the user"] * 2
    assert wire[1]["content"] == "Par"
    calls = wire[1]["tool_calls"]
    assert isinstance(calls, list)
    assert [entry["function"]["arguments"] for entry in calls if isinstance(entry, dict)] == ['{"x": 1}', "{}"]  # type: ignore[index,call-overload]


def test_invalid_arguments_go_out_as_an_empty_object_with_an_error_result() -> None:
    """A11: the raw text stays in the record, the conversation goes on, and only the empty one is a call that may run."""
    messages = case("A11")
    wire = wire_messages(messages, HERE)
    assert_valid(wire)
    results = {str(message["tool_call_id"]): message["content"] for message in wire if message["role"] == "tool"}
    assert {call_id for call_id, text in results.items() if "arguments are not" in str(text)} == {"1", "3", "4", "5"}
    assistant = messages[0]
    assert isinstance(assistant, AssistantMessage)
    assert [entry.id for entry in assistant.tool_calls if entry.refusal is None] == ["2"]
    assert [entry.arguments_text for entry in assistant.tool_calls] == ['{"q": "x', "", "{}{}", "[1]", "null"]


IDS = st.sampled_from(["a", "b", "c"])
MESSAGES = st.lists(
    st.one_of(
        st.builds(UserMessage, text=st.text(max_size=3)),
        st.builds(
            AssistantMessage,
            text=st.sampled_from(["", "x"]),
            tool_calls=st.lists(
                st.builds(call, IDS, st.sampled_from(["{}", "", "{", '{"q":1}', "[]", '{"q":"\\u0000"}'])),
                max_size=3,
                unique_by=lambda made: made.id,
            ).map(tuple),
            cut=st.sampled_from([None, "stopped", "failed", "length"]),
        ),
        st.builds(ToolResult, call_id=IDS, name=st.just("describe"), text=st.text(max_size=3)),
    ),
    max_size=10,
)


@given(MESSAGES)
def test_every_history_becomes_a_valid_one(messages: list[Message]) -> None:
    """Orphaned, doubled, missing and late results, empty messages, ids used again: all in any order."""
    assert_valid(wire_messages(messages, HERE))


@given(st.lists(IDS, min_size=1, max_size=3, unique=True), st.integers())
def test_results_come_right_after_their_calls_in_the_calls_order(ids: list[str], seed: int) -> None:
    """Also those that came late, after the user had gone on."""
    results = [ToolResult(call_id=call_id, name="describe", text=f"result {call_id}") for call_id in ids]
    random.Random(seed).shuffle(results)
    asked = AssistantMessage(tool_calls=tuple(call(call_id) for call_id in ids))
    late = wire_messages([asked, results[0], UserMessage(text="go on"), *results[1:]], HERE)
    assert [message.get("content") for message in late[1:-1]] == [f"result {call_id}" for call_id in ids]
    assert late[-1] == {"role": "user", "content": "go on"}


def test_result_answers_the_nearest_call_of_its_id() -> None:
    """Some endpoints number the calls of every answer from zero."""
    messages: list[Message] = []
    for text in ("first", "second"):
        messages += [AssistantMessage(tool_calls=(call("a"),)), ToolResult(call_id="a", name="describe", text=text)]
    assert [message["content"] for message in wire_messages(messages, HERE) if message["role"] == "tool"] == ["first", "second"]


def test_first_result_of_a_call_stands() -> None:
    """A late second one must not change what the model was told."""
    results = [ToolResult(call_id="a", name="describe", text=text) for text in ("first", "second")]
    wire = wire_messages([AssistantMessage(tool_calls=(call("a"),)), *results], HERE)
    assert [message["content"] for message in wire[1:]] == ["first"]


def test_arguments_go_out_as_the_model_wrote_them_unless_they_hide_what_was_cleaned() -> None:
    """Their white space is kept for the provider's cache; an escaped NUL is not."""
    wire = wire_messages([AssistantMessage(tool_calls=(call("a", '{ "q":1}'), call("b", '{"q":"\\u0000"}')))], HERE)
    calls = wire[0]["tool_calls"]
    assert isinstance(calls, list)
    written = [entry["function"]["arguments"] for entry in calls if isinstance(entry, dict)]  # type: ignore[index,call-overload]
    assert written == ['{ "q":1}', '{"q": "\\ufffd"}']


def test_truncated_call_without_a_result_is_told_about_the_limit() -> None:
    """P21: the output limit is the cause, not the schema."""
    wire = wire_messages([AssistantMessage(tool_calls=(call("a", truncated=True),), cut="length")], HERE)
    assert "output limit" in str(wire[1]["content"])
    assert "arguments are not" not in str(wire[1]["content"])


def assistant_with(maker: str) -> AssistantMessage:
    """A message that carries reasoning and a signed call of `maker`'s."""
    data: JsonObject = {"reasoning_content": "hm", "inline_reasoning": "secret"}
    calls = (call("a", extra={"google": {"thought_signature": "sig"}}),)
    return AssistantMessage(tool_calls=calls, provider_data=ProviderData(maker=maker, data=data))


def test_own_provider_data_goes_back_inside_the_turn() -> None:
    """Signatures and reasoning under their own names; inline thoughts never."""
    wire = wire_messages([UserMessage(text="q"), assistant_with(HERE)], HERE)
    assert wire[1]["reasoning_content"] == "hm"
    assert "secret" not in json.dumps(wire)
    assert wire[1]["tool_calls"][0]["extra_content"] == {"google": {"thought_signature": "sig"}}  # type: ignore[index,call-overload]


def test_reasoning_of_earlier_turns_stays_here_but_signatures_go_back() -> None:
    """Endpoints that think drop or refuse it; signatures they want."""
    wire = wire_messages([UserMessage(text="q"), assistant_with(HERE), UserMessage(text="and?")], HERE)
    assert "reasoning_content" not in wire[1]
    assert "thought_signature" in json.dumps(wire[1])


def test_provider_data_of_another_maker_stays_here() -> None:
    """A message that another model wrote goes out as plain text and calls."""
    wire = wire_messages([UserMessage(text="q"), assistant_with("openai http://there/v1 m")], HERE)
    assert set(wire[1]) == {"role", "content", "tool_calls"}
    assert "thought_signature" not in json.dumps(wire)


def test_reasoning_blocks_go_back_instead_of_their_text() -> None:
    """OpenRouter sends both; the blocks hold the text."""
    data: JsonObject = {"reasoning": "hm", "reasoning_details": [{"type": "reasoning.text", "text": "hm"}]}
    message = AssistantMessage(text="x", provider_data=ProviderData(maker=HERE, data=data))
    wire = wire_messages([UserMessage(text="q"), message], HERE)
    assert wire[1] == {"role": "assistant", "content": "x", "reasoning_details": data["reasoning_details"]}


@pytest.mark.parametrize("name", ["", "a.b/c", "x" * 80, "naïve"])
def test_name_that_the_wire_refuses_is_bent(name: str) -> None:
    """A name the model made up would make the endpoint refuse the whole history, for good."""
    wire = wire_messages([AssistantMessage(tool_calls=(call("a", name=name),))], HERE)
    bent = wire[0]["tool_calls"][0]["function"]["name"]  # type: ignore[index,call-overload]
    assert 0 < len(str(bent)) <= 64
    assert str(bent).replace("_", "").replace("-", "").isascii()


def test_long_ids_of_another_maker_are_shortened_alike_in_call_and_result() -> None:
    """OpenAI refuses ids of more than 40 characters; its own go back as they came."""
    long = "x" * (LONGEST_ID + 1)
    answered: list[Message] = [AssistantMessage(tool_calls=(call(long),)), ToolResult(call_id=long, name="describe", text="r")]
    wire = wire_messages(answered, HERE)
    assert_valid(wire)
    assert len(str(wire[1]["tool_call_id"])) <= LONGEST_ID
    assert wire[1]["content"] == "r"


def test_text_that_utf8_cannot_carry_is_cleaned_on_the_way_out() -> None:
    """A lone surrogate would otherwise raise inside the SDK."""
    request = ModelRequest(system="s\ud83d", messages=(UserMessage(text="q\ud83d\0"),))
    json.dumps(request_body(request, ModelConfig(model="m"), maker=HERE), ensure_ascii=False).encode()


def test_body_streams_with_usage_and_has_tools_only_if_there_are_any() -> None:
    """An empty `tools` is refused."""
    tool = ToolDefinition(name="describe", description="d", parameters={"type": "object", "properties": {}})
    bare = request_body(ModelRequest(system="", messages=(UserMessage(text="q"),)), ModelConfig(model="m"), maker=HERE)
    assert bare == {
        "model": "m",
        "messages": [{"role": "user", "content": "q"}],
        "stream": True,
        "stream_options": {"include_usage": True},
    }
    full = request_body(ModelRequest(system="s", messages=(), tools=(tool,)), ModelConfig(model="m"), maker=HERE)
    assert full["tools"] == [{"type": "function", "function": tool.model_dump()}]
    assert full["messages"] == [{"role": "system", "content": "s"}]
