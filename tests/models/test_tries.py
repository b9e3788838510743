"""Trying again, falling back, and whom a key is sent to: on both wires, replayed under the real SDKs."""

import asyncio
import logging
from collections.abc import AsyncGenerator, AsyncIterator, Callable
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime

import httpx2
import pytest
from anthropic import AsyncAnthropic
from openai import AsyncOpenAI

from askbus.models.adapters import Models
from askbus.models.anthropic_adapter import AnthropicModel
from askbus.models.config import ModelConfig
from askbus.models.fallback import FallbackModel
from askbus.models.model import (
    Accepts,
    Answering,
    Completion,
    Fault,
    Finish,
    Model,
    ModelEvent,
    ModelRequest,
    ProviderError,
    TextDelta,
    Usage,
)
from askbus.models.openai_adapter import OpenAIModel
from askbus.models.streaming import Tries, retry_after
from askbus.runtime.settings import Settings, SettingsError
from askbus.testing.answers import answer, asking, collect

STREAM = {"content-type": "text/event-stream"}
ANSWERS = {
    "openai": b'data: {"choices":[{"delta":{"content":"Hi"},"finish_reason":"stop"}]}\n\ndata: [DONE]\n\n',
    "anthropic": b'data: {"type":"content_block_delta","delta":{"type":"text_delta","text":"Hi"}}\n\ndata: {"type":"message_stop"}\n\n',
}
Respond = Callable[[httpx2.Request], httpx2.Response]


@asynccontextmanager
async def opened(wire: str, respond: Respond, *, retries: int = 2) -> AsyncIterator[Model]:
    """An adapter of this wire whose endpoint responds like this."""
    async with httpx2.AsyncClient(transport=httpx2.MockTransport(respond), follow_redirects=True) as http:
        config, tries = ModelConfig(model="m"), Tries(retries, 10, 0.01)
        if wire == "anthropic":
            claude = AsyncAnthropic(base_url="http://provider.test", api_key="ours", http_client=http, open_telemetry=False)
            yield AnthropicModel(claude, config, tries)
        else:
            yield OpenAIModel(AsyncOpenAI(base_url="http://provider.test/v1", api_key="ours", http_client=http), config, tries)


def one_after_the_other(*responses: httpx2.Response) -> tuple[Respond, list[httpx2.Request]]:
    """An endpoint that gives these answers, and the requests that it got."""
    requests: list[httpx2.Request] = []

    def respond(request: httpx2.Request) -> httpx2.Response:
        requests.append(request)
        return responses[len(requests) - 1]

    return respond, requests


@pytest.mark.requirement("C22")
@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
@pytest.mark.parametrize("wire", ["openai", "anthropic"])
async def test_redirect_is_refused(wire: str, status: int) -> None:
    """The key and the conversation are for the configured endpoint alone; nothing cures it, so it is not tried again."""
    respond, requests = one_after_the_other(httpx2.Response(status, headers={"location": "http://elsewhere.test/v1"}))
    async with opened(wire, respond) as model:
        with pytest.raises(ProviderError) as caught:
            await answer(model, asking("q"))
    assert caught.value.fault is Fault.BAD_REQUEST
    assert [request.url.host for request in requests] == ["provider.test"]


@pytest.mark.requirement("C22")
@pytest.mark.parametrize("wire", ["openai", "anthropic"])
async def test_no_key_but_the_configured_one_is_sent(wire: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The SDKs look for others in the environment."""
    for name in ("OPENAI_API_KEY", "OPENAI_ADMIN_KEY", "ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "ANTHROPIC_PROFILE"):
        monkeypatch.setenv(name, "theirs")
    respond, requests = one_after_the_other(httpx2.Response(200, headers=STREAM, content=ANSWERS[wire]))
    async with opened(wire, respond) as model:
        assert (await answer(model, asking("q")))[0] == "Hi"
    assert "theirs" not in str(requests[0].headers.raw)
    assert requests[0].headers["authorization"] == "Bearer ours"


@pytest.mark.requirement("C19")
@pytest.mark.parametrize("wire", ["openai", "anthropic"])
async def test_wait_that_ends_past_the_callers_patience_is_not_begun(wire: str) -> None:
    """An endpoint that asks to be left alone for an hour would otherwise use up the whole turn."""
    respond, requests = one_after_the_other(
        httpx2.Response(429, headers={"retry-after": "3600"}, json={"error": {"message": "x"}})
    )
    async with opened(wire, respond) as model, asyncio.timeout(5):
        for request in (asking("q").model_copy(update={"patience": 30.0}), asking("q")):
            requests.clear()
            with pytest.raises(ProviderError) as caught:
                await answer(model, request)
            assert (caught.value.fault, caught.value.retry_after, len(requests)) == (Fault.RATE_LIMITED, 3600, 1)


@pytest.mark.requirement("C19")
@pytest.mark.parametrize("wire", ["openai", "anthropic"])
async def test_endpoint_that_does_not_respond_is_waited_for_no_longer_than_patience(wire: str) -> None:
    """Whatever the client's own time-outs are."""

    async def never(_request: httpx2.Request) -> httpx2.Response:
        await asyncio.Event().wait()
        raise AssertionError("not reached")

    async with opened(wire, never) as model, asyncio.timeout(5):  # type: ignore[arg-type]  # the transport awaits it
        with pytest.raises(ProviderError) as caught:
            await answer(model, asking("q").model_copy(update={"patience": 0.05}))
    assert caught.value.fault is Fault.TIMED_OUT


@pytest.mark.requirement("C19")
@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({"retry-after": "7"}, 7),
        ({"retry-after": "0.5"}, 0.5),
        ({"retry-after": "7", "retry-after-ms": "250"}, 0.25),
        ({"retry-after": "-1"}, 0),
        ({"retry-after": "nan"}, None),
        ({"retry-after": "inf"}, None),
        ({"retry-after": "soon"}, None),
        ({"retry-after": "Wed, 21 Oct 2015 07:28:00 GMT"}, 0),
        ({}, None),
    ],
)
def test_retry_after_is_read_in_all_its_forms(headers: dict[str, str], seconds: float | None) -> None:
    """RFC 9110, section 10.2.3, and what providers send beside it."""
    assert retry_after(httpx2.Headers(headers)) == seconds


@pytest.mark.requirement("C19")
def test_retry_after_as_a_date_is_counted_from_now() -> None:
    """And the wait is never shorter than asked for; jitter comes on top, so that those who were sent away together come back apart."""
    wanted = retry_after(
        httpx2.Headers({"retry-after": format_datetime(datetime.now(UTC) + timedelta(seconds=100), usegmt=True)})
    )
    assert wanted is not None
    assert 95 < wanted <= 100
    waits = {Tries(delay=1.0).wait(0, 3.0) for _ in range(20)}
    assert min(waits) >= 3.0
    assert len(waits) > 1
    assert all(0.5 <= Tries(delay=1.0).wait(0, None) <= 1.0 for _ in range(20))


class Scripted:
    """A model that says these things, or fails like this."""

    def __init__(self, name: str, *said: ModelEvent | ProviderError) -> None:
        self._name = name
        self._said = said
        self.patience: list[float | None] = []

    @property
    def name(self) -> str:
        return self._name

    @property
    def accepts(self) -> Accepts:
        return Accepts(images=self._name == "first", documents=True)

    async def stream(self, request: ModelRequest) -> AsyncGenerator[ModelEvent]:
        self.patience.append(request.patience)
        for event in self._said:
            if isinstance(event, ProviderError):
                raise event
            yield event

    async def close(self) -> None:
        """Nothing is open."""


def completion(model: str) -> Completion:
    usage = Usage(input_tokens=1, output_tokens=1)
    return Completion(text="Hi", tool_calls=(), finish=Finish.STOP, usage=usage, provider_data=None, model=model)


@pytest.mark.requirement("C19", "C28")
@pytest.mark.parametrize(
    "fault", [Fault.RATE_LIMITED, Fault.OVERLOADED, Fault.CONNECTION, Fault.TIMED_OUT, Fault.QUOTA, Fault.AUTH]
)
async def test_fallback_answers_when_the_first_cannot_and_says_who_it_is(fault: Fault) -> None:
    """What the first was billed is counted, and patience is shared."""
    first = Scripted("first", ProviderError(fault, "x", usage=Usage(input_tokens=5, output_tokens=0)))
    second = Scripted("second", TextDelta("Hi"), completion("second"))
    shown: list[ModelEvent] = []
    await collect(FallbackModel(first, second), asking("q").model_copy(update={"patience": 100.0}), shown)
    assert shown[:2] == [Answering("second"), TextDelta("Hi")]
    last = shown[-1]
    assert isinstance(last, Completion)
    assert (last.model, last.usage) == ("second", Usage(input_tokens=6, output_tokens=1))
    assert first.patience == [50.0]
    assert second.patience[0] is not None
    assert 50 < second.patience[0] <= 100


@pytest.mark.requirement("C19")
@pytest.mark.parametrize(("fault", "said"), [(Fault.BAD_REQUEST, ""), (Fault.TOO_LONG, ""), (Fault.CONNECTION, "H")])
async def test_fallback_is_not_asked_when_something_was_said_or_the_request_is_at_fault(fault: Fault, said: str) -> None:
    """Two beginnings of an answer would be shown as one; and a wrong request is wrong everywhere."""
    failure = ProviderError(fault, "x", partial_text=said)
    second = Scripted("second", completion("second"))
    with pytest.raises(ProviderError) as caught:
        await answer(FallbackModel(Scripted("first", failure), second), asking("q"))
    assert caught.value is failure
    assert second.patience == []


@pytest.mark.requirement("C19")
async def test_both_failing_is_the_second_ones_failure_with_the_bill_of_both() -> None:
    """And files are promised only where both take them."""
    first = Scripted("first", ProviderError(Fault.OVERLOADED, "x", usage=Usage(input_tokens=5, output_tokens=0)))
    second = Scripted("second", ProviderError(Fault.CONNECTION, "y", usage=Usage(input_tokens=1, output_tokens=0)))
    model = FallbackModel(first, second)
    with pytest.raises(ProviderError) as caught:
        await collect(model, asking("q"), [])
    assert (caught.value.fault, caught.value.usage) == (Fault.CONNECTION, Usage(input_tokens=6, output_tokens=0))
    assert (model.name, model.accepts) == ("first", Accepts(images=False, documents=True))


@pytest.mark.requirement("C15")
async def test_sdks_are_told_not_to_log_what_people_say() -> None:
    """Environment variables of theirs turn that on; several models, on both wires, are opened and closed together."""
    for name in ("openai", "anthropic"):
        logging.getLogger(name).setLevel(logging.DEBUG)
    models = Models(
        Settings.load(
            database_url="postgresql://unused",
            nats_url="nats://unused",
            model_api_key="k",
            models={
                "claude": {"provider": "anthropic", "api_key": "k", "model": "c", "fallback": "default"},
                "plain": {"base_url": "http://models.internal/v1", "model": "p"},
                "keyless": {"provider": "anthropic", "model": "c"},
            },
        )
    )
    try:
        assert not any(logging.getLogger(name).isEnabledFor(logging.INFO) for name in ("openai", "anthropic"))
        assert [models.of(name).name for name in (None, "claude", "plain")] == ["gpt-5", "c", "p"]
        for name in ("gone", "keyless"):
            with pytest.raises(ProviderError) as caught:
                models.of(name)
            assert caught.value.fault is Fault.NOT_CONFIGURED
    finally:
        await models.close()


@pytest.mark.requirement("C15")
@pytest.mark.parametrize(
    "wrong",
    [
        {"a": {"model": "m", "fallback": "gone"}},
        {"a": {"model": "m", "fallback": "a"}},
        {"a": {"model": "m", "base_url": "ftp://x"}},
        {"a": {"model": "m", "base_url": "https://one:two@x/v1"}},
        {"a": {"model": "m", "api_key": "two\nlines"}},
        {"a": {"model": "m", "provider": "other"}},
        {"a": {"model": "m", "surprise": 1}},
        {"a": {}},
        {"": {"model": "m"}},
    ],
)
def test_wrong_configuration_is_told_at_the_start_without_any_key(wrong: dict[str, object]) -> None:
    """A process that starts serves every model that it was told of."""
    with pytest.raises(SettingsError) as caught:
        Settings.load(database_url="x", nats_url="x", models=wrong)
    assert "ASKBUS_MODELS" in str(caught.value)
    assert "two" not in str(caught.value)
