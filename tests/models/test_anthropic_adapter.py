"""The adapter over the real SDK and real HTTP, against the scripted model, which speaks this wire too."""

from collections.abc import AsyncIterator
from contextlib import aclosing, asynccontextmanager

import httpx2
import pytest
from anthropic import AsyncAnthropic
from pydantic import JsonValue
from tests.models.wire_rules import check_anthropic, inner, listed

from askbus.models.anthropic_adapter import AnthropicModel
from askbus.models.config import ModelConfig
from askbus.models.model import AssistantMessage, Fault, Finish, ModelEvent, ProviderError, TextDelta, ToolResult
from askbus.models.streaming import Tries
from askbus.testing.answers import answer, asking, collect
from askbus.testing.model_process import ScriptedModel

pytestmark = pytest.mark.requirement("C15")

LOOK: JsonValue = {"name": "query_records", "arguments": {"collection": "orders"}}
SCRIPT: list[JsonValue] = [
    {"when": "orders", "steps": [{"text": "Let me look. ", "tool_calls": [LOOK, LOOK]}, {"text": "It is {{results[1].total}}."}]},
    {"when": "busy once", "steps": [{"text": "Here.", "error_status": 529, "retry_after": 0.01, "times": 1}]},
    {"when": "refused", "steps": [{"error_status": 400, "error_message": "no such thing"}]},
    {"when": "cut late", "steps": [{"text": "Let me look", "tool_calls": [LOOK], "cut": 5, "times": 1}]},
    {"when": "hang", "steps": [{"text": "Let me think", "hang": 2}]},
]
CONFIG = ModelConfig(provider="anthropic", model="m")


@pytest.fixture(scope="module")
async def server() -> AsyncIterator[ScriptedModel]:
    """One scripted model for the module; tests look only at their own requests."""
    async with ScriptedModel(SCRIPT, api_key="right") as model:
        yield model


@asynccontextmanager
async def opened(server: ScriptedModel, *, key: str = "right", silence: float = 10) -> AsyncIterator[AnthropicModel]:
    """An adapter with short waits between retries."""
    base = server.base_url.removesuffix("/v1")
    client = AsyncAnthropic(base_url=base, api_key=key, timeout=httpx2.Timeout(silence, connect=5), open_telemetry=False)
    model = AnthropicModel(client, CONFIG, Tries(2, 10, 0.01))
    try:
        yield model
    finally:
        await model.close()


async def test_tool_exchange_goes_there_and_back(server: ScriptedModel) -> None:
    """Text, two calls in fragments, usage; then both results in one message and an answer that quotes one."""
    async with opened(server) as model:
        text, asked = await answer(model, asking("How much are the orders?"))
        assert text == asked.text == "Let me look. "
        assert [(call.name, call.arguments) for call in asked.tool_calls] == [("query_records", {"collection": "orders"})] * 2
        assert asked.finish is Finish.TOOL_CALLS
        assert asked.usage is not None
        assert asked.usage.input_tokens > 0
        results = [
            ToolResult(call_id=call.id, name=call.name, text=text)
            for call, text in zip(asked.tool_calls, ["{}", '{"total": 12.50}'], strict=True)
        ]
        said = AssistantMessage(text=asked.text, tool_calls=asked.tool_calls, provider_data=asked.provider_data)
        text, final = await answer(model, asking("How much are the orders?", said, *results))
    assert (text, final.finish, final.model) == ("It is 12.50.", Finish.STOP, "scripted on messages")
    body = inner((await server.requests())[-1].body)
    check_anthropic(body, CONFIG)
    assert [block["type"] for block in listed(listed(body["messages"])[-1]["content"])] == ["tool_result"] * 2


async def test_overload_is_waited_out_as_long_as_the_provider_says(server: ScriptedModel) -> None:
    """C19: retried with its Retry-After while nothing was streamed."""
    async with opened(server) as model:
        assert (await answer(model, asking("busy once")))[0] == "Here."


async def test_what_no_retry_cures_is_not_retried(server: ScriptedModel) -> None:
    """The provider's words are for the log, and without the key that they may quote."""
    async with opened(server) as model:
        with pytest.raises(ProviderError) as caught:
            await answer(model, asking("refused"))
        assert (caught.value.fault, caught.value.detail) == (Fault.BAD_REQUEST, "no such thing")
    assert len([request for request in await server.requests() if "refused" in str(request.body)]) == 1
    async with opened(server, key="invalid_api_key") as model:
        with pytest.raises(ProviderError) as caught:
            await answer(model, asking("orders"))
        assert (caught.value.fault, caught.value.detail) == (Fault.AUTH, "[key]: not the key of this endpoint")


async def test_stream_that_dies_after_text_is_left_to_the_caller(server: ScriptedModel) -> None:
    """A13: the partial text comes with the error, nothing is doubled."""
    async with opened(server) as model:
        shown: list[ModelEvent] = []
        with pytest.raises(ProviderError) as caught:
            await collect(model, asking("cut late"), shown)
        assert shown == [TextDelta("Let"), TextDelta(" me"), TextDelta(" look")]
        assert (caught.value.partial_text, caught.value.retryable) == ("Let me look", True)
        _text, completion = await answer(model, asking("cut late"))
    assert len(completion.tool_calls) == 1


async def test_silence_in_the_middle_is_timed(server: ScriptedModel) -> None:
    """What was said is kept as partial."""
    async with opened(server, silence=0.2) as model:
        with pytest.raises(ProviderError) as caught:
            await answer(model, asking("hang"))
    assert (caught.value.fault, caught.value.partial_text) == (Fault.TIMED_OUT, "Let me")


async def test_leaving_the_loop_closes_the_stream_at_once(server: ScriptedModel) -> None:
    """C5: the provider sees the client leave."""
    async with opened(server) as model:
        async with aclosing(model.stream(asking("hang"))) as events:
            await anext(events)
        await server.until("disconnected", timeout=1)
