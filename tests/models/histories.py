"""Histories as a database may give them back: everything that crashes, stops, other models and old versions can leave behind."""

import json
from base64 import b64decode
from pathlib import Path

from hypothesis import strategies as st

from askbus.models.config import ModelConfig
from askbus.models.model import (
    AssistantMessage,
    Document,
    Image,
    JsonObject,
    Message,
    ProviderData,
    ToolCall,
    ToolResult,
    UserMessage,
)

OPENAI = "openai http://here/v1 m"
ANTHROPIC = "anthropic http://here m"
PIXEL = Image(media_type="image/png", data=b"\x89PNG")
P27 = Path(__file__).parent.parent / "cases" / "history" / "P27.json"
PAPER = Document(name="a\0.pdf", data=b"%PDF-1.7")


def call(call_id: str, arguments: str = "{}", name: str = "describe", **more: object) -> ToolCall:
    """A call as the database gives it back."""
    return ToolCall.read(id=call_id, name=name, arguments_text=arguments, **more)  # type: ignore[arg-type]


def pictures_of_two_tools() -> tuple[AssistantMessage, ToolResult, ToolResult]:
    """Case P27: two parallel calls, each of which brought a picture, one of them without a word."""
    asked, *results = json.loads(P27.read_text())["neutral"]
    calls = tuple(call(made["id"], json.dumps(made["arguments"]), made["name"]) for made in asked["tool_calls"])
    first, second = [
        ToolResult(
            call_id=result["for"],
            name="chart",
            text="".join(part.get("text", "") for part in result["parts"]),
            parts=tuple(
                Image(media_type=part["image"]["media_type"], data=b64decode(part["image"]["b64"]))
                for part in result["parts"]
                if "image" in part
            ),
        )
        for result in results
    ]
    return AssistantMessage(tool_calls=calls), first, second


IDS = st.sampled_from(["a", "b", "call_0", "functions.f:0", "x" * 70, "ü", ""])
TEXTS = st.sampled_from(["", " ", "x", "\ud83d", "a\0"])
ARGUMENTS = st.sampled_from(["{}", "", "{", '{"q":1}', "[]", "null", '{"q":"\\u0000"}', '{"q":"\\ud83d"}', '{"n":1e999}'])
THOUGHT: JsonObject = {"type": "thinking", "thinking": "hm", "signature": "s"}
BLOCKS = st.lists(
    st.one_of(
        st.just(THOUGHT),
        st.just({"type": "redacted_thinking", "data": "d"}),
        st.just({"type": "text", "text": "x"}),
        st.builds(lambda call_id: {"type": "tool_use", "id": call_id}, IDS),
        st.sampled_from([{"type": "surprise"}, "surprise", None, {"type": "tool_use"}, {"type": "text"}, {"type": "thinking"}]),
    ),
    max_size=4,
)
DATA = st.one_of(
    st.none(),
    st.builds(
        ProviderData, maker=st.sampled_from([OPENAI, ANTHROPIC, "another"]), data=st.builds(lambda b: {"blocks": b}, BLOCKS)
    ),
    st.just(ProviderData(maker=OPENAI, data={"reasoning_content": "hm"})),
    st.just(ProviderData(maker=ANTHROPIC, data={"blocks": "no list"})),
)
MESSAGES: st.SearchStrategy[Message] = st.one_of(
    st.builds(UserMessage, text=TEXTS, parts=st.lists(st.sampled_from([PIXEL, PAPER]), max_size=2).map(tuple)),
    st.builds(
        AssistantMessage,
        text=TEXTS,
        tool_calls=st.lists(st.builds(call, IDS, ARGUMENTS, st.sampled_from(["f", "", "a.b/c", "n" * 80])), max_size=3).map(
            tuple
        ),
        provider_data=DATA,
        cut=st.sampled_from([None, "stopped", "failed", "length"]),
    ),
    st.builds(
        AssistantMessage,
        text=st.just("x"),
        tool_calls=st.lists(st.builds(call, st.sampled_from(["a", "b"])), max_size=1).map(tuple),
        provider_data=st.builds(ProviderData, maker=st.just(ANTHROPIC), data=st.builds(lambda b: {"blocks": b}, BLOCKS)),
    ),
    st.builds(
        ToolResult,
        call_id=IDS,
        name=st.just("f"),
        text=TEXTS,
        error=st.booleans(),
        parts=st.lists(st.just(PIXEL), max_size=1).map(tuple),
    ),
)
CONFIGS = st.builds(
    ModelConfig,
    model=st.just("m"),
    images=st.booleans(),
    documents=st.booleans(),
    tool_messages=st.booleans(),
    user_after_tools=st.booleans(),
)
