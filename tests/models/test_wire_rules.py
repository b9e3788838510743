"""Any history that is stored, cut anywhere, becomes a request that both wires accept (C12)."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import JsonValue
from tests.models.histories import ANTHROPIC, CONFIGS, MESSAGES, OPENAI, TEXTS, THOUGHT, call
from tests.models.wire_rules import check_anthropic, check_openai

from askbus.models import anthropic_history, openai_history
from askbus.models.config import ModelConfig
from askbus.models.model import AssistantMessage, Message, ModelRequest, ProviderData, ToolDefinition, ToolResult, UserMessage

pytestmark = pytest.mark.requirement("C11", "C12")

TOOL = ToolDefinition(name="f", description="d", parameters={"type": "object", "properties": {}})


@given(
    st.lists(MESSAGES, max_size=8),
    st.integers(0, 8),
    st.integers(0, 8),
    CONFIGS,
    TEXTS,
    st.sampled_from([(), (TOOL,)]),
    st.booleans(),
)
def test_every_history_cut_anywhere_is_a_request_that_both_wires_accept(
    messages: list[Message],
    start: int,
    end: int,
    config: ModelConfig,
    system: str,
    tools: tuple[ToolDefinition, ...],
    answer_only: bool,
) -> None:
    """Orphaned, doubled, missing and late results, empty messages, ids used again, thoughts of anybody's: all in any order."""
    request = ModelRequest(system=system, messages=tuple(messages[start:end]), tools=tools, answer_only=answer_only)
    check_openai(openai_history.request_body(request, config, maker=OPENAI), config)
    check_anthropic(anthropic_history.request_body(request, config, maker=ANTHROPIC), config)


def test_the_judges_find_what_is_wrong() -> None:
    """A judge that accepts everything would make the test above worthless."""
    config = ModelConfig(model="m")
    asked = AssistantMessage(tool_calls=(call("a"), call("b")))
    request = ModelRequest(system="s", messages=(UserMessage(text="q"), asked, ToolResult(call_id="a", name="f", text="r")))
    for judge, write in ((check_openai, openai_history.request_body), (check_anthropic, anthropic_history.request_body)):
        body = write(request, config, maker="m")
        judge(body, config)
        messages = body["messages"]
        assert isinstance(messages, list)
        spoken: list[JsonValue] = [
            message for message in messages if isinstance(message, dict) and message["role"] != "assistant"
        ]
        wrongs: list[list[JsonValue]] = [messages[:-1], [*messages, messages[-1]], spoken]
        for wrong in wrongs:
            with pytest.raises((AssertionError, ValueError)):
                judge({**body, "messages": wrong}, config)


def test_thoughts_go_back_to_their_maker_alone() -> None:
    """Another model's are dropped whole: the message goes out as plain text and calls."""
    said = AssistantMessage(
        text="x",
        tool_calls=(call("a"),),
        provider_data=ProviderData(
            maker=ANTHROPIC, data={"blocks": [THOUGHT, {"type": "text", "text": "x"}, {"type": "tool_use", "id": "a"}]}
        ),
    )
    request = ModelRequest(system="", messages=(UserMessage(text="q"), said))
    own = anthropic_history.request_body(request, ModelConfig(model="m"), maker=ANTHROPIC)
    other = anthropic_history.request_body(request, ModelConfig(model="m"), maker="anthropic http://here other")
    assert THOUGHT in own["messages"][1]["content"]  # type: ignore[index,call-overload,operator]
    assert "thinking" not in str(other["messages"])
    assert "hm" not in str(openai_history.request_body(request, ModelConfig(model="m"), maker=OPENAI))
