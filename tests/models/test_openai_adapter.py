"""The adapter over the real SDK and real HTTP, against the scripted model in a process of its own."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import aclosing, asynccontextmanager

import httpx2
import pytest
from openai import AsyncOpenAI
from pydantic import JsonValue

from askbus.models.adapters import Models
from askbus.models.config import ModelConfig
from askbus.models.model import (
    AssistantMessage,
    Completion,
    Fault,
    Finish,
    ModelEvent,
    ProviderError,
    TextDelta,
    ToolResult,
)
from askbus.models.openai_adapter import OpenAIModel
from askbus.models.streaming import Tries
from askbus.runtime.settings import Settings
from askbus.stack.ports import free_port
from askbus.testing.answers import answer, asking, collect
from askbus.testing.model_process import ScriptedModel

pytestmark = pytest.mark.requirement("C19")

LOOK: JsonValue = {"name": "query_records", "arguments": {"collection": "orders"}}
SCRIPT: list[JsonValue] = [
    {"when": "orders", "steps": [{"text": "Let me look. ", "tool_calls": [LOOK, LOOK]}, {"text": "It is {{results[1].total}}."}]},
    {"when": "busy once", "steps": [{"text": "Here.", "error_status": 429, "retry_after": 0.01, "times": 1}]},
    {"when": "busy", "steps": [{"error_status": 429, "retry_after": 0.01}]},
    {"when": "unhealthy", "steps": [{"error_status": 503, "retry_after": 0.01}]},
    {"when": "refused", "steps": [{"error_status": 400, "error_message": "no such thing"}]},
    {"when": "cut early once", "steps": [{"text": "Here.", "cut": 0, "times": 1}]},
    {"when": "cut late once", "steps": [{"text": "Let me look", "tool_calls": [LOOK], "cut": 5, "times": 1}]},
    {"when": "silent", "steps": [{"text": "Never said", "hang": 0}]},
    {"when": "hang", "steps": [{"text": "Let me think", "hang": 2}]},
    {"when": "hold", "steps": [{"text": "Let me think", "hold": "gate", "hold_after": 1}]},
    {"when": "limit", "steps": [{"text": "Too", "tool_calls": [LOOK], "finish": "length"}]},
]


@pytest.fixture(scope="module")
async def server() -> AsyncIterator[ScriptedModel]:
    """One scripted model for the module; tests look only at their own requests."""
    async with ScriptedModel(SCRIPT, api_key="right") as model:
        yield model


@asynccontextmanager
async def opened(
    base_url: str, *, key: str = "right", retries: int = 2, first_token: float = 10, silence: float = 10
) -> AsyncIterator[OpenAIModel]:
    """An adapter with short waits between retries."""
    timeout = httpx2.Timeout(silence, connect=5)
    client = AsyncOpenAI(base_url=base_url, api_key=key, timeout=timeout)
    model = OpenAIModel(client, ModelConfig(model="m"), Tries(retries, first_token, 0.01))
    try:
        yield model
    finally:
        await model.close()


async def test_tool_exchange_goes_there_and_back(server: ScriptedModel) -> None:
    """Text, two calls in fragments, usage; then the results on the wire and an answer that quotes one."""
    async with opened(server.base_url) as model:
        question = asking("How much are the orders?")
        text, asked = await answer(model, question)
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
        assert (text, final.finish, final.model) == ("It is 12.50.", Finish.STOP, "scripted")


async def test_connection_is_used_again(server: ScriptedModel) -> None:
    """The few bytes after [DONE] are read, so that the next call needs no new connection."""
    async with opened(server.base_url) as model:
        for _ in range(3):
            await answer(model, asking("orders on one connection"))
    seen = [request for request in await server.requests() if "one connection" in str(request.body)]
    assert len(seen) == 3
    assert len({request.connection for request in seen}) == 1


async def test_rate_limit_is_waited_out_as_long_as_the_provider_says(server: ScriptedModel) -> None:
    """C19: retried with its Retry-After while nothing was streamed."""
    async with opened(server.base_url) as model:
        text, _completion = await answer(model, asking("busy once"))
    assert text == "Here."


@pytest.mark.parametrize(
    ("said", "fault", "tries"),
    [("busy", Fault.RATE_LIMITED, 3), ("unhealthy", Fault.OVERLOADED, 3), ("refused", Fault.BAD_REQUEST, 1)],
)
async def test_refusal_is_a_typed_error_once_the_budget_is_spent(
    server: ScriptedModel, said: str, fault: Fault, tries: int
) -> None:
    """What no retry cures is not retried."""
    words = f"{said}, {tries} tries"
    async with opened(server.base_url, retries=2) as model:
        with pytest.raises(ProviderError) as caught:
            await answer(model, asking(words))
    assert caught.value.fault is fault
    assert caught.value.retry_after == (0.01 if caught.value.retryable else None)
    assert len([request for request in await server.requests() if words in str(request.body)]) == tries


async def test_wrong_key_is_told_to_nobody_but_the_log_without_the_key(server: ScriptedModel) -> None:
    """The endpoint's message may quote it."""
    async with opened(server.base_url, key="invalid_api_key") as model:
        with pytest.raises(ProviderError) as caught:
            await answer(model, asking("orders"))
    assert caught.value.fault is Fault.AUTH
    assert caught.value.detail == "[key]: not the key of this endpoint"


async def test_nobody_listening_is_a_connection_fault() -> None:
    """The operator's to mend, or passing."""
    async with opened(f"http://127.0.0.1:{free_port()}/v1", retries=0) as model:
        with pytest.raises(ProviderError) as caught:
            await answer(model, asking("orders"))
    assert caught.value.fault is Fault.CONNECTION


async def test_stream_that_dies_before_any_text_is_tried_again(server: ScriptedModel) -> None:
    """Nobody saw anything, so nobody needs to know."""
    async with opened(server.base_url) as model:
        text, _completion = await answer(model, asking("cut early once"))
    assert text == "Here."


async def test_stream_that_dies_after_text_is_left_to_the_caller(server: ScriptedModel) -> None:
    """A13: the partial text comes with the error; the caller's next attempt starts over and nothing is doubled."""
    async with opened(server.base_url) as model:
        shown: list[ModelEvent] = []
        with pytest.raises(ProviderError) as caught:
            await collect(model, asking("cut late once"), shown)
        assert shown == [TextDelta("Let"), TextDelta(" me"), TextDelta(" look")]
        assert caught.value.partial_text == "Let me look"
        assert caught.value.retryable
        text, completion = await answer(model, asking("cut late once"))
    assert text == completion.text == "Let me look"
    assert len(completion.tool_calls) == 1
    assert len([request for request in await server.requests() if "cut late once" in str(request.body)]) == 2


async def test_silence_before_the_first_token_is_timed(server: ScriptedModel) -> None:
    """The response has begun and says nothing."""
    async with opened(server.base_url, first_token=0.05, retries=0) as model:
        with pytest.raises(ProviderError) as caught:
            await answer(model, asking("silent"))
    assert (caught.value.fault, caught.value.partial_text) == (Fault.TIMED_OUT, "")


async def test_silence_in_the_middle_is_timed(server: ScriptedModel) -> None:
    """What was said is kept as partial."""
    async with opened(server.base_url, silence=0.2, retries=2) as model:
        with pytest.raises(ProviderError) as caught:
            await answer(model, asking("hang"))
    assert (caught.value.fault, caught.value.partial_text) == (Fault.TIMED_OUT, "Let me")


async def test_cancelling_the_task_closes_the_stream_at_once() -> None:
    """C5: the server sees the client leave, while the model would have gone on for ever."""
    async with ScriptedModel(SCRIPT) as server, opened(server.base_url) as model:
        said = asyncio.Event()

        async def read() -> None:
            async with aclosing(model.stream(asking("hang"))) as events:
                async for _event in events:
                    said.set()

        task = asyncio.create_task(read())
        await said.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        seen = await server.until("disconnected", timeout=1)
        assert seen[0].state == "disconnected"


async def test_leaving_the_loop_closes_the_stream_at_once() -> None:
    """`aclosing` is enough; the generator is not left to the garbage collector."""
    async with ScriptedModel(SCRIPT) as server, opened(server.base_url) as model:
        async with aclosing(model.stream(asking("hang"))) as events:
            await anext(events)
        await server.until("disconnected", timeout=1)


async def test_text_is_passed_on_while_the_model_still_speaks() -> None:
    """The first words are here before the model goes on."""
    async with (
        ScriptedModel(SCRIPT) as server,
        opened(server.base_url) as model,
        aclosing(model.stream(asking("hold"))) as events,
    ):
        first = await anext(events)
        assert first == TextDelta("Let")
        assert (await server.until("held"))[0].state == "held"
        await server.release("gate")
        rest = [event async for event in events]
    assert isinstance(rest[-1], Completion)
    assert rest[-1].text == "Let me think"


async def test_call_at_the_output_limit_may_not_run(server: ScriptedModel) -> None:
    """P21 over the wire."""
    async with opened(server.base_url) as model:
        _text, completion = await answer(model, asking("limit"))
    assert completion.finish is Finish.LENGTH
    assert [call.refusal is None for call in completion.tool_calls] == [False]


async def test_settings_name_the_model(server: ScriptedModel) -> None:
    """`Models` is what a service opens."""
    settings = Settings.load(
        database_url="postgresql://unused",
        nats_url="nats://unused",
        model_base_url=server.base_url,
        model_api_key="right",
        model_name="chosen",
    )
    models = Models(settings)
    try:
        events = [event async for event in models.of(None).stream(asking("orders by the settings"))]
    finally:
        await models.close()
    assert isinstance(events[-1], Completion)
    seen = [request for request in await server.requests() if "by the settings" in str(request.body)]
    assert [(request.authorization, request.body["model"]) for request in seen] == [("Bearer right", "chosen")]  # type: ignore[index,call-overload]
