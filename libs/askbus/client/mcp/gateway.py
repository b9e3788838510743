"""The gateway's `/mcp`, as a bridge asks it: one POST a message, tried again while the gateway is not there."""

import logging
from collections.abc import Callable
from importlib.metadata import version
from ssl import SSLContext

import httpx2
from pydantic import JsonValue, ValidationError
from pydantic_core import from_json, to_json

from askbus.client.http import CONNECT_TIMEOUT, OUTAGES, refusal
from askbus.client.mcp.messages import Message, Object, one_line
from askbus.client.patience import PATIENCE, persistently
from askbus.errors import AskbusError, ErrorBody, Internal, InvalidInput, RateLimited, TimedOut, Unauthenticated, Unavailable

log = logging.getLogger("askbus.mcp")

Heard = Callable[[bytes], None]

SILENCE = 60.0
"""Seconds without a byte after which a request is given up: the gateway sends a comment more often than that."""
LARGEST_ANSWER = 32 << 20
"""Bytes."""
PASSING = {Unavailable.code, TimedOut.code, RateLimited.code}
"""Failures of a tool that are over when it is called again."""
LOST = "The connection to askbus was lost before it answered: this may have happened. Look before you send it again."
REFUSED = "askbus refused this token: it is unknown, revoked or expired. Make a new one and set ASKBUS_TOKEN."


class LostError(Exception):
    """Nobody knows what became of a message that must not be sent twice."""


class Answer:
    """What a message was answered with: its line, and its result if it has one."""

    def __init__(self, line: bytes, message: JsonValue) -> None:
        self.line = one_line(line, message)
        result = message.get("result") if isinstance(message, dict) else None
        self.result: Object | None = result if isinstance(result, dict) else None

    @property
    def structured(self) -> Object:
        """What the tool told in its declared shape; as text for clients whose revision has no structured content."""
        result = self.result or {}
        told = result.get("structuredContent")
        if isinstance(told, dict):
            return told
        content = result.get("content")
        for block in reversed(content) if isinstance(content, list) else ():
            found = _json(block.get("text")) if isinstance(block, dict) else None
            if isinstance(found, dict):
                return found
        return {}

    @property
    def failure(self) -> AskbusError | None:
        """Why the tool failed, if it did."""
        if not (self.result or {}).get("isError"):
            return None
        try:
            return AskbusError.of(ErrorBody.model_validate(self.structured))
        except ValidationError:
            return Internal("The tool failed.")


class Gateway:
    """Where askbus is, and with which token. Raises InvalidInput for an address or a token that cannot be one."""

    def __init__(self, url: str, token: str, *, patience: float = PATIENCE, tls: SSLContext | None = None) -> None:
        if not url.startswith(("http://", "https://")):
            raise InvalidInput("ASKBUS_URL is no address of askbus: it starts with https://")
        if not token.isascii() or not token.isprintable() or " " in token:
            raise InvalidInput("ASKBUS_TOKEN is no token: it has characters that no token has.")
        self.url = f"{url.rstrip('/')}/mcp"
        self.patience = patience
        self._http = httpx2.AsyncClient(
            headers={
                "authorization": f"Bearer {token}",
                "content-type": "application/json",
                "accept": "application/json, text/event-stream",
                "user-agent": f"askbus-mcp/{version('askbus')}",
            },
            verify=True if tls is None else tls,
            timeout=httpx2.Timeout(SILENCE, connect=CONNECT_TIMEOUT, pool=None),
            limits=httpx2.Limits(max_connections=None, max_keepalive_connections=20),
        )

    async def close(self) -> None:
        await self._http.aclose()

    async def ask(self, message: Message, agreed: str | None, heard: Heard, *, patience: float | None = None) -> Answer:
        """What the message is answered with; `heard` is told notifications that come before it.

        While the gateway is not there it is sent again for `patience` seconds, if it never got there or may be sent twice. Raises
        Unauthenticated where the token does not count, Unavailable when patience is over, TimedOut where what became of it is not known.
        """
        seconds = self.patience if patience is None else patience
        last: list[Answer] = []

        async def once() -> Answer:
            last.clear()
            answer = await self._send(message, agreed, heard)
            failure = answer.failure
            if isinstance(failure, Unauthenticated):  # it stopped to count while the call waited
                raise Unauthenticated(REFUSED)
            if message.repeatable and failure is not None and failure.code in PASSING:
                last.append(answer)
                raise failure
            return answer

        try:
            return await persistently(once, seconds)
        except LostError:
            raise TimedOut(LOST) from None
        except AskbusError:
            if last:
                return last[0]
            raise

    async def _send(self, message: Message, agreed: str | None, heard: Heard) -> Answer:
        try:
            sending = self._http.stream("POST", self.url, content=message.line, headers=message.headers(agreed))
            async with sending as response:
                return await self._answered(message, response, heard)
        except (httpx2.ConnectError, httpx2.ConnectTimeout) as error:
            raise _away(f"askbus cannot be reached at {self.url}: {type(error).__name__}.") from None
        except httpx2.TransportError as error:
            raise self._lost(message, f"The connection to askbus was lost: {type(error).__name__}.") from None

    async def _answered(self, message: Message, response: httpx2.Response, heard: Heard) -> Answer:
        if response.status_code == 401:
            raise Unauthenticated(REFUSED)
        if response.is_success and response.headers.get("content-type", "").startswith("text/event-stream"):
            return await self._streamed(message, response, heard)
        data = bytearray()
        async for chunk in response.aiter_bytes():
            data += chunk
            if len(data) > LARGEST_ANSWER:
                raise Internal("askbus answered with more than a message can hold.")
        if response.status_code == 202 and message.id is None:
            return Answer(b"", None)
        found = _json(bytes(data))
        if isinstance(found, list) or (isinstance(found, dict) and found.get("jsonrpc") == "2.0"):
            return Answer(*_with_id(bytes(data), found, message))
        error = refusal(response, bytes(data))
        raise self._lost(message, error.message) if response.status_code in OUTAGES else error

    async def _streamed(self, message: Message, response: httpx2.Response, heard: Heard) -> Answer:
        async for event in httpx2.EventSource(response, max_event_size=LARGEST_ANSWER):
            found = _json(event.data)
            line = event.data.encode()
            if isinstance(found, dict) and ("result" in found or "error" in found):
                return Answer(*_with_id(line, found, message))
            if isinstance(found, dict) and "id" not in found:
                heard(one_line(line, found))
        raise self._lost(message, "The answer of askbus ended before it was whole.")

    def _lost(self, message: Message, words: str) -> Exception:
        """Nobody knows what became of the message: it is sent again where that does no harm."""
        return _away(words) if message.repeatable else LostError(words)


def _away(words: str) -> Unavailable:
    log.info("%s Trying again.", words)
    return Unavailable(words)


def _with_id(line: bytes, found: JsonValue, message: Message) -> tuple[bytes, JsonValue]:
    """A refusal from before the gateway had read who asks is this request's all the same."""
    if not isinstance(found, dict) or found.get("id") is not None or message.id is None:
        return line, found
    said = {**found, "id": message.id}
    return to_json(said), said


def _json(text: object) -> JsonValue:
    try:
        found: JsonValue = from_json(text) if isinstance(text, str | bytes) else None
    except ValueError:
        return None
    return found
