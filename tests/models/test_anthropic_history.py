"""What Anthropic's endpoint is sent."""

import json
from pathlib import Path

import pytest
from pydantic import JsonValue
from tests.models.histories import ANTHROPIC, PAPER, PIXEL, THOUGHT, call, pictures_of_two_tools
from tests.models.test_openai_history import case
from tests.models.wire_rules import check_anthropic, inner, listed

from askbus.models.anthropic_assembler import AnthropicAssembler
from askbus.models.anthropic_history import request_body
from askbus.models.config import ModelConfig
from askbus.models.model import (
    AssistantMessage,
    JsonObject,
    Message,
    ModelRequest,
    ProviderData,
    ToolDefinition,
    ToolResult,
    UserMessage,
)
from askbus.models.sse import EventStreamParser

pytestmark = pytest.mark.requirement("C12", "C18")

PROVIDERS = Path(__file__).parent.parent / "cases" / "providers"
CONFIG = ModelConfig(provider="anthropic", model="m")
TOOL = ToolDefinition(name="f", description="d", parameters={"type": "object", "properties": {}})


def body_of(
    *messages: Message, config: ModelConfig = CONFIG, system: str = "s", tools: tuple[ToolDefinition, ...] = (TOOL,)
) -> JsonObject:
    """The body, which is a valid one."""
    body = request_body(ModelRequest(system=system, messages=messages, tools=tools), config, maker=ANTHROPIC)
    check_anthropic(body, config)
    return body


def sent(*messages: Message, config: ModelConfig = CONFIG) -> list[JsonObject]:
    """The messages of the body, without cache marks."""
    made = listed(body_of(*messages, config=config)["messages"])
    for message in made:
        for block in listed(message["content"]):
            block.pop("cache_control", None)
    return made


def text(words: str) -> JsonObject:
    return {"type": "text", "text": words}


def test_parallel_results_go_back_in_one_user_message() -> None:
    """In the order of the calls, before what the user said meanwhile, whenever they came."""
    asked = AssistantMessage(text="Look.", tool_calls=(call("a"), call("b")))
    results = [ToolResult(call_id=name, name="f", text=f"of {name}") for name in ("b", "a")]
    made = sent(UserMessage(text="q"), asked, results[0], UserMessage(text="and?"), results[1])
    assert [message["role"] for message in made] == ["user", "assistant", "user"]
    assert made[2]["content"] == [
        {"type": "tool_result", "tool_use_id": "a", "content": [text("of a")]},
        {"type": "tool_result", "tool_use_id": "b", "content": [text("of b")]},
        text("and?"),
    ]


def test_body_asks_for_adaptive_thinking_and_nothing_that_newer_models_refuse() -> None:
    """C18: no budget, no prefill, no sampling parameters; and no thinking where the configuration says so."""
    body = body_of(UserMessage(text="q"), AssistantMessage(text="half an answer", cut="failed"))
    assert body["thinking"] == {"type": "adaptive"}
    assert set(body) == {"model", "max_tokens", "messages", "stream", "thinking", "system", "tools"}
    assert listed(body["messages"])[-1]["role"] == "user"
    plain = body_of(UserMessage(text="q"), config=CONFIG.model_copy(update={"thinking": False}), system=" ", tools=())
    assert set(plain) == {"model", "max_tokens", "messages", "stream"}


def test_breakpoints_stand_where_the_stable_prefix_ends() -> None:
    """After the tools, the system text, what was said before the last question, and at the end."""
    asked = AssistantMessage(tool_calls=(call("a"),))
    history = (
        UserMessage(text="1"),
        AssistantMessage(text="one"),
        UserMessage(text="2"),
        asked,
        ToolResult(call_id="a", name="f", text="r"),
    )
    body = body_of(*history)
    mark = {"type": "ephemeral"}
    assert listed(body["tools"])[-1]["cache_control"] == mark
    assert listed(body["system"])[-1]["cache_control"] == mark
    marked = [at for at, message in enumerate(listed(body["messages"])) if "cache_control" in str(message)]
    assert marked == [1, 4]


def test_breakpoint_stands_before_a_thought_that_ends_a_message() -> None:
    """A thought may carry none."""
    blocks: list[JsonValue] = [text("one"), THOUGHT]
    said = AssistantMessage(text="one", provider_data=ProviderData(maker=ANTHROPIC, data={"blocks": blocks}))
    body = body_of(UserMessage(text="1"), said, UserMessage(text="2"))
    marked = ["cache_control" in block for block in listed(listed(body["messages"])[1]["content"])]
    assert marked == [True, False]


def test_prefix_of_a_longer_conversation_is_byte_for_byte_the_shorter_one() -> None:
    """Otherwise nothing is ever read from the cache."""
    history = (
        UserMessage(text="1"),
        AssistantMessage(text="one", tool_calls=(call("a"),)),
        ToolResult(call_id="a", name="f", text="r"),
    )
    longer = sent(*history, AssistantMessage(text="so"), UserMessage(text="2"))
    assert longer[: len(history)] == sent(*history)


def test_thoughts_go_back_unchanged_and_in_their_place() -> None:
    """P25: thinking, redacted thinking, a call, a thought without words, another call."""
    given = json.loads((PROVIDERS / "P25.json").read_text())
    parser, assembler = EventStreamParser(), AnthropicAssembler(ANTHROPIC, "m")
    for event in parser.feed("".join(given["reads"]).encode()):
        assembler.feed(event.data)
    assembler.close()
    said = assembler.completion()
    stored = ProviderData.model_validate_json(said.provider_data.model_dump_json()) if said.provider_data else None
    message = AssistantMessage(text=said.text, tool_calls=said.tool_calls, provider_data=stored)
    assert sent(UserMessage(text="q"), message)[1]["content"] == given["expected"]["replay_blocks"]


@pytest.mark.parametrize(
    "blocks",
    [
        [THOUGHT, {"type": "tool_use", "id": "b"}],
        [THOUGHT, {"type": "surprise"}, {"type": "tool_use", "id": "a"}],
        [THOUGHT],
        "no list",
        [None],
    ],
)
def test_thoughts_that_do_not_fit_their_message_are_dropped_whole(blocks: JsonValue) -> None:
    """After a trim, an edit, or by another version: text and calls alone go out."""
    message = AssistantMessage(
        text="x", tool_calls=(call("a"),), provider_data=ProviderData(maker=ANTHROPIC, data={"blocks": blocks})
    )
    assert sent(UserMessage(text="q"), message)[1]["content"] == [
        text("x"),
        {"type": "tool_use", "id": "a", "name": "describe", "input": {}},
    ]


def test_ids_that_the_wire_refuses_or_has_seen_are_made_anew() -> None:
    """Kimi's have dots and colons, others number the calls of each answer from zero."""
    twice = [
        one
        for _ in range(2)
        for one in (AssistantMessage(tool_calls=(call("call_0"),)), ToolResult(call_id="call_0", name="f", text="r"))
    ]
    made = sent(UserMessage(text="q"), *twice, AssistantMessage(tool_calls=(call("functions.f:0"),)))
    ids = [block["id"] for message in made for block in listed(message["content"]) if block["type"] == "tool_use"]
    assert ids[0] == "call_0"
    assert len(set(map(str, ids))) == 3


def test_stopped_and_invalid_calls_are_answered() -> None:
    """A07 and A11 on this wire."""
    stopped = sent(*case("A07"))
    assert [block["type"] for block in listed(stopped[2]["content"])] == ["tool_result", "tool_result", "text"]
    assert "stopped by the user" in str(stopped[2])
    assert [block.get("is_error") for block in listed(stopped[2]["content"])] == [True, True, None]
    invalid = sent(*case("A11"))
    calls = [block for message in invalid for block in listed(message["content"]) if block["type"] == "tool_use"]
    assert [block["input"] for block in calls] == [{}] * 5


def test_files_go_with_the_words_and_tools_in_one_request() -> None:
    """C14: pictures and PDF files first; what the model does not take is named."""
    blocks = listed(sent(UserMessage(text="q", parts=(PIXEL, PAPER)))[0]["content"])
    assert [block["type"] for block in blocks] == ["image", "document", "text"]
    assert inner(blocks[1])["title"] == "a\N{REPLACEMENT CHARACTER}.pdf"
    blind = sent(UserMessage(text="q", parts=(PIXEL,)), config=CONFIG.model_copy(update={"images": False}))
    assert [block["type"] for block in listed(blind[0]["content"])] == ["text"]
    assert "cannot be shown" in str(blind)


def test_pictures_of_tools_stand_inside_their_results() -> None:
    """P27; a failed call's result is text alone, as the wire demands."""
    asked, *results = pictures_of_two_tools()
    made = listed(sent(UserMessage(text="q"), asked, *results)[2]["content"])
    assert [[part["type"] for part in listed(block["content"])] for block in made] == [["text", "image"], ["image"]]
    failed = sent(UserMessage(text="q"), asked, results[0].model_copy(update={"error": True}))
    assert "image" not in str(failed)
