"""The OpenAI wire over the official SDK: any endpoint that speaks chat completions, by its base URL.

The SDK gives the client, authentication, retries and error types. Its event stream is read as bytes into our own parser and
assembler: stream repair needs the raw events, and a pydantic object for each chunk costs more CPU than the rest of a turn.
"""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Iterator
from contextlib import aclosing, contextmanager, suppress
from random import SystemRandom
from typing import TYPE_CHECKING, cast

import httpx2
import structlog

from askbus.models.config import ModelConfig
from askbus.models.model import Accepts, Fault, JsonObject, ModelEvent, ModelRequest, ProviderError, TextDelta, Usage
from askbus.models.openai_assembler import OpenAIAssembler
from askbus.models.openai_faults import classify
from askbus.models.openai_history import request_body
from askbus.models.sse import LONGEST, EventStreamParser, EventTooLong, ServerSentEvent

if TYPE_CHECKING:
    from openai import AsyncOpenAI

log = structlog.get_logger()

_HEADERS = {"Accept": "text/event-stream", "Accept-Encoding": "identity"}
_DRAIN = 0.1
_LONGEST_DELAY = 8.0
_random = SystemRandom()


class OpenAIModel:
    """One model behind one client.

    `max_retries` is the budget of one request for faults before anything was streamed. `first_token` is how many seconds a
    response that has begun may consist of comments and silence; silence at any time is the client's own read time-out.
    """

    def __init__(
        self,
        client: "AsyncOpenAI",
        config: ModelConfig,
        *,
        max_retries: int = 2,
        first_token: float = 180,
        retry_delay: float = 0.5,
    ) -> None:
        self._client = client
        self._config = config
        self._maker = f"openai {str(client.base_url).rstrip('/')} {config.model}"
        self._max_retries = max_retries
        self._first_token = first_token
        self._retry_delay = retry_delay

    @property
    def name(self) -> str:
        return self._config.model

    @property
    def accepts(self) -> Accepts:
        return Accepts(images=self._config.images, documents=self._config.documents)

    async def close(self) -> None:
        """Close the connections."""
        await self._client.close()

    async def stream(self, request: ModelRequest) -> AsyncGenerator[ModelEvent]:
        """Deltas as they come, then one Completion. Raises ProviderError, once retries have not helped or text has been streamed.

        Close it (`contextlib.aclosing`) or cancel the task to stop: the HTTP stream is closed at once.
        """
        body = request_body(request, model=self._config.model, maker=self._maker)
        left = self._max_retries
        spent: Usage | None = None
        while True:
            assembler = OpenAIAssembler(self._maker, self._config.model)
            response = await self._open(body, left, spent)
            left -= _retries_taken(response)
            try:
                async with aclosing(self._texts(response, assembler)) as texts:
                    async for text in texts:
                        yield TextDelta(text)
            except ProviderError as error:
                error.usage = spent = _sum(spent, error.usage)
                if error.partial_text or left <= 0 or not error.retryable:
                    raise
                log.warning("model.retried", model=self._config.model, fault=error.fault)
            else:
                completion = assembler.completion()
                yield completion.model_copy(update={"usage": _sum(spent, completion.usage)}) if spent else completion
                return
            await asyncio.sleep(self._delay(self._max_retries - left))
            left -= 1

    def _delay(self, retries: int) -> float:
        """Seconds to wait before the next try: exponential, with jitter so that callers who failed together come back apart."""
        longest = min(self._retry_delay * 2.0**retries, _LONGEST_DELAY)
        return _random.uniform(longest / 2, longest)

    async def _open(self, body: JsonObject, retries: int, spent: Usage | None) -> httpx2.Response:
        """The response, its body unread. The SDK retries within `retries`, with jitter, and honours Retry-After."""
        from openai import APIConnectionError, APIStatusError, APITimeoutError, AsyncStream  # noqa: PLC0415  # costs a second

        try:
            response: object = await self._client.post(
                "/chat/completions",
                cast_to=httpx2.Response,
                body=body,
                options={"headers": _HEADERS, "max_retries": max(retries, 0)},
                stream=True,
                stream_cls=AsyncStream[object],
            )
        except APITimeoutError as error:
            raise ProviderError(Fault.TIMED_OUT, "no response in time", usage=spent) from error
        except APIConnectionError as error:
            raise ProviderError(Fault.CONNECTION, repr(error.__cause__), usage=spent) from error
        except APIStatusError as error:
            fault, detail = classify(cast("JsonObject", error.body), error.status_code)
            detail = detail.replace(self._client.api_key, "[key]")
            raise ProviderError(fault, detail, usage=spent, retry_after=_retry_after(error.response)) from error
        return cast("httpx2.Response", response)

    async def _texts(self, response: httpx2.Response, assembler: OpenAIAssembler) -> AsyncGenerator[str]:
        """What the assembler makes of the response, piece by piece. Raises ProviderError unless the answer is whole."""
        whole = response.headers.get("content-type", "").startswith("application/json")
        parser = _WholeBody() if whole else EventStreamParser()
        deadline = asyncio.get_running_loop().time() + self._first_token
        reads = response.aiter_bytes()
        try:
            with _transport_faults(assembler):
                while not assembler.done:
                    data = await (anext(reads, None) if assembler.started else _within(deadline, reads))
                    for event in parser.close() if data is None else parser.feed(data):
                        if text := assembler.feed(event.data):
                            yield text
                    if data is None:
                        break
                await _drain(reads)
        finally:
            await response.aclose()
        if text := assembler.close():
            yield text


class _WholeBody:
    """The parser of an endpoint that does not stream: its body is one event."""

    def __init__(self) -> None:
        self._body = bytearray()

    def feed(self, data: bytes) -> list[ServerSentEvent]:
        self._body += data
        if len(self._body) > LONGEST:
            raise EventTooLong(f"a body of more than {LONGEST} bytes")
        return []

    def close(self) -> list[ServerSentEvent]:
        return [ServerSentEvent("message", self._body.decode(errors="replace"), "")]


@contextmanager
def _transport_faults(assembler: OpenAIAssembler) -> Iterator[None]:
    """Faults of the wire as ProviderError, unless the answer was whole before: then nothing that matters was lost."""
    try:
        yield
    except (httpx2.TimeoutException, TimeoutError):
        if not assembler.finished:
            assembler.fail(Fault.TIMED_OUT, "the stream fell silent")
    except (httpx2.HTTPError, httpx2.StreamError) as error:
        if not assembler.finished:
            assembler.fail(Fault.CONNECTION, repr(error))
    except EventTooLong as error:
        assembler.fail(Fault.BAD_RESPONSE, str(error))


async def _within(deadline: float, reads: AsyncIterator[bytes]) -> bytes | None:
    """The next read, if it comes before `deadline` on the loop's clock. Raises TimeoutError."""
    async with asyncio.timeout_at(deadline):
        return await anext(reads, None)


async def _drain(reads: AsyncIterator[bytes]) -> None:
    """Read the few bytes after `[DONE]`, so that the connection can be used again; who does not end there is not waited for."""
    with suppress(TimeoutError, httpx2.HTTPError):
        async with asyncio.timeout(_DRAIN):
            async for _ in reads:
                pass


def _sum(one: Usage | None, other: Usage | None) -> Usage | None:
    return one + other if one and other else one or other


def _retries_taken(response: httpx2.Response) -> int:
    """How often the SDK sent the request again; it writes the number into the request."""
    return int(response.request.headers.get("x-stainless-retry-count", 0))


def _retry_after(response: httpx2.Response) -> float | None:
    """Retry-After in seconds (RFC 9110, section 10.2.3), where it is a number."""
    try:
        return max(float(response.headers["retry-after"]), 0.0)
    except (KeyError, ValueError):
        return None
