"""The adapter's last resorts: endpoints that break in ways that no server can be asked to, replayed under the real SDK."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import aclosing, asynccontextmanager

import httpx2
import pytest
from openai import AsyncOpenAI

from askbus.models.config import ModelConfig
from askbus.models.model import Fault, ProviderError, Usage
from askbus.models.openai_adapter import OpenAIModel
from askbus.models.streaming import Tries
from askbus.testing.answers import answer, asking

HI = b'data: {"choices":[{"index":0,"delta":{"content":"Hi"}}]}\n\n'
DONE = b"data: [DONE]\n\n"
GONE = b'data: {"error":{"code":503,"message":"gone"}}\n\n'
USAGE = b'data: {"choices":[],"usage":{"prompt_tokens":10,"completion_tokens":1}}\n\n'


class Body(httpx2.AsyncByteStream):
    """A response's body; it knows whether it was closed."""

    def __init__(self, *reads: bytes, for_ever: bytes | None = None) -> None:
        self._reads = reads
        self._for_ever = for_ever
        self.closed = False

    async def __aiter__(self) -> AsyncIterator[bytes]:
        for read in self._reads:
            yield read
        while self._for_ever is not None:
            yield self._for_ever
            await asyncio.sleep(0)

    async def aclose(self) -> None:
        self.closed = True


@asynccontextmanager
async def replaying(
    *outcomes: httpx2.Response | Body, retries: int = 0, first_token: float = 10
) -> AsyncIterator[tuple[OpenAIModel, list[httpx2.Request]]]:
    """An adapter whose endpoint gives these answers one after the other, and the requests that it got."""
    requests: list[httpx2.Request] = []

    def respond(request: httpx2.Request) -> httpx2.Response:
        outcome = outcomes[len(requests)]
        requests.append(request)
        if isinstance(outcome, httpx2.Response):
            return outcome
        return httpx2.Response(200, headers={"content-type": "text/event-stream"}, stream=outcome)

    async with httpx2.AsyncClient(transport=httpx2.MockTransport(respond)) as http:
        client = AsyncOpenAI(base_url="http://provider.test/v1", api_key="key", http_client=http)
        yield (
            OpenAIModel(client, ModelConfig(model="m"), Tries(retries, first_token, 0.01)),
            requests,
        )


async def test_attempts_that_failed_are_billed_too() -> None:
    """A13: the usage is the sum of what each attempt told, in the completion and in the error."""
    outcomes = [Body(USAGE, end) for end in (GONE, HI + DONE, GONE, GONE)]
    async with replaying(*outcomes, retries=1) as (model, _requests):
        _text, completion = await answer(model, asking("q"))
        assert completion.usage == Usage(input_tokens=20, output_tokens=2)
        with pytest.raises(ProviderError) as caught:
            await answer(model, asking("q"))
    assert caught.value.usage == Usage(input_tokens=20, output_tokens=2)


async def test_budget_of_retries_is_one_for_refusals_and_broken_streams() -> None:
    """What the SDK has used up of it is not to be had again."""
    refusal = httpx2.Response(503, headers={"retry-after": "0.01"}, json={"error": {"message": "busy"}})
    async with replaying(refusal, Body(GONE), Body(HI, DONE), retries=1) as (model, requests):
        with pytest.raises(ProviderError, match="gone"):
            await answer(model, asking("q"))
    assert len(requests) == 2


async def test_response_is_closed_before_the_caller_goes_on() -> None:
    """Not some time later, by the garbage collector."""
    body = Body(HI, for_ever=b": still here\n\n")
    async with replaying(body) as (model, _requests):
        async with aclosing(model.stream(asking("q"))) as events:
            await anext(events)
            assert not body.closed
        assert body.closed


async def test_end_of_the_answer_is_not_held_up_by_a_connection_left_open() -> None:
    """[DONE] is the end, whatever the endpoint goes on to send."""
    async with replaying(Body(HI, DONE, for_ever=b": still here\n\n")) as (model, _requests):
        assert (await answer(model, asking("q")))[0] == "Hi"


async def test_keep_alives_do_not_count_as_a_first_token() -> None:
    """P19: comments show that the endpoint lives, not that the model speaks."""
    async with replaying(Body(for_ever=b": PROCESSING\n\n"), first_token=0.05) as (model, _requests):
        with pytest.raises(ProviderError) as caught:
            await answer(model, asking("q"))
    assert caught.value.fault is Fault.TIMED_OUT


async def test_connection_lost_after_the_end_of_the_answer_loses_nothing() -> None:
    """The model had said why it stopped; only the usage is missing."""

    class Lost(Body):
        async def __aiter__(self) -> AsyncIterator[bytes]:
            yield HI
            yield b'data: {"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}\n\n'
            raise httpx2.ReadError("reset")

    async with replaying(Lost()) as (model, _requests):
        assert (await answer(model, asking("q")))[0] == "Hi"
