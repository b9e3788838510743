"""One answer from one endpoint, in as many tries as it takes: what the adapters of all wires have in common.

The SDKs give clients, authentication and error types. Trying again is done here and not by them, since they would wait as long as an
endpoint wishes, past the end of the turn that asks; and their event streams are not used, since repairing a stream needs the raw bytes.
"""

import asyncio
import email.utils
import math
import time
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Iterator, Mapping
from contextlib import aclosing, contextmanager, suppress
from dataclasses import dataclass
from random import SystemRandom

import httpx2
import structlog

from askbus.models.assembler import Assembler
from askbus.models.billing import total
from askbus.models.model import Completion, Fault, ProviderError, TextDelta, Usage
from askbus.models.sse import LONGEST, EventStreamParser, EventTooLong, ServerSentEvent

log = structlog.get_logger()

HEADERS: Mapping[str, str] = {"Accept": "text/event-stream", "Accept-Encoding": "identity"}
LARGEST_ANSWER = 64 * 1024 * 1024
"""Bytes of a response: ten times what the longest answers come to, each token in an event of its own."""
LONGEST_REFUSAL = 16 * 1024
"""Bytes that are read of an error's body, as they come over the wire: the SDKs read it whole, whatever it unpacks to."""
LONGEST_WAIT = 60.0
"""Seconds that a caller without a clock of its own waits for an endpoint that asks to be left alone."""
_GRACE = 0.5
"""Seconds past the caller's patience: where its own clock ends the call, that is what is told, and not a fault of the endpoint."""
_DRAIN = 0.1
_LONGEST_DELAY = 8.0
_random = SystemRandom()


@dataclass(frozen=True)
class Tries:
    """How one request is tried. `retries` is its budget for faults before anything was streamed. `first_token` is how many seconds a
    response that has begun may consist of comments and silence; silence at any time is the client's own read time-out."""

    retries: int = 2
    first_token: float = 180
    delay: float = 0.5

    def wait(self, retry: int, retry_after: float | None) -> float:
        """Seconds until the next try: what the endpoint asks for, or exponentially more; with jitter, so that callers who failed
        together come back apart."""
        longest = min(self.delay * 2.0**retry, _LONGEST_DELAY)
        if retry_after is not None:
            return retry_after + _random.uniform(0, longest / 2)
        return _random.uniform(longest / 2, longest)


async def stream_answer(
    open_response: Callable[[], Awaitable[httpx2.Response]],
    new_assembler: Callable[[], Assembler],
    tries: Tries,
    *,
    patience: float | None,
    model: str,
) -> AsyncGenerator[TextDelta | Completion]:
    """Deltas as they come, then one Completion. Raises ProviderError, once retries have not helped, text has been streamed, or another
    try would come after `patience`."""
    clock = asyncio.get_running_loop().time
    deadline = clock() + patience if patience is not None else math.inf
    spent: Usage | None = None
    for retry in range(tries.retries + 1):
        assembler = new_assembler()
        try:
            async with aclosing(_attempt(open_response, assembler, deadline + _GRACE, tries.first_token)) as texts:
                async for text in texts:
                    yield TextDelta(text)
        except ProviderError as error:
            error.usage = spent = total(spent, error.usage)
            wait = tries.wait(retry, error.retry_after)
            too_late = wait > LONGEST_WAIT if patience is None else clock() + wait >= deadline
            if error.partial_text or retry == tries.retries or not error.retryable or too_late:
                raise
            log.warning("model.retried", model=model, fault=error.fault)
        else:
            completion = assembler.completion()
            yield completion.model_copy(update={"usage": total(spent, completion.usage)}) if spent else completion
            return
        await asyncio.sleep(wait)


async def _attempt(
    open_response: Callable[[], Awaitable[httpx2.Response]], assembler: Assembler, deadline: float, first_token: float
) -> AsyncGenerator[str]:
    """What the assembler makes of one response, piece by piece. Raises ProviderError unless the answer is whole."""
    loop = asyncio.get_running_loop()
    try:
        async with asyncio.timeout_at(None if math.isinf(deadline) else deadline):
            response = await open_response()
    except TimeoutError:
        raise ProviderError(Fault.TIMED_OUT, "no response in the time that is left") from None
    whole = response.headers.get("content-type", "").startswith("application/json")
    parser = _WholeBody() if whole else EventStreamParser()
    deadline = min(loop.time() + first_token, deadline)
    reads = _bounded(response)
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


async def _bounded(response: httpx2.Response) -> AsyncGenerator[bytes]:
    """The body as it comes. Raises EventTooLong for one that does not end."""
    received = 0
    async for data in response.aiter_bytes():
        received += len(data)
        if received > LARGEST_ANSWER:
            raise EventTooLong(f"a response of more than {LARGEST_ANSWER} bytes")
        yield data


class _Shortened(httpx2.AsyncByteStream):
    """The beginning of a body."""

    def __init__(self, whole: httpx2.AsyncByteStream) -> None:
        self._whole = whole

    async def __aiter__(self) -> AsyncIterator[bytes]:
        left = LONGEST_REFUSAL
        async for data in self._whole:
            yield data[:left]
            left -= len(data)
            if left <= 0:
                return

    async def aclose(self) -> None:
        await self._whole.aclose()


async def shorten_refusal(response: httpx2.Response) -> None:
    """A hook for the SDKs' HTTP clients: of what is no answer no more is read than a log needs."""
    if not response.is_success and isinstance(response.stream, httpx2.AsyncByteStream):
        response.stream = _Shortened(response.stream)


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
def _transport_faults(assembler: Assembler) -> Iterator[None]:
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
    """Read the few bytes after the end, so that the connection can be used again; who does not end there is not waited for."""
    with suppress(TimeoutError, EventTooLong, httpx2.HTTPError):
        async with asyncio.timeout(_DRAIN):
            async for _ in reads:
                pass


def retry_after(headers: httpx2.Headers) -> float | None:
    """Retry-After in seconds, given as a number or a date (RFC 9110, section 10.2.3), or the finer header beside it."""
    with suppress(KeyError, ValueError):
        return _seconds(float(headers["retry-after-ms"]) / 1000)
    value = headers.get("retry-after")
    if value is None:
        return None
    with suppress(ValueError):
        return _seconds(float(value))
    with suppress(ValueError, TypeError, OverflowError):
        return _seconds(email.utils.parsedate_to_datetime(value).timestamp() - time.time())
    return None


def _seconds(number: float) -> float:
    """Raises ValueError for what is no number of seconds."""
    if not math.isfinite(number):
        raise ValueError("not a number of seconds")
    return max(number, 0.0)
