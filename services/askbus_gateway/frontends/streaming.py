"""Answering a request with a turn's stream: what is wrong before its first byte is an HTTP status, later it is told in the stream."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from functools import update_wrapper
from typing import Any
from uuid import UUID

from starlette.requests import Request
from starlette.responses import Response

from askbus.access.model import Principal
from askbus.runtime.health import Receive, Send
from askbus_gateway.http.gate import refusal_of
from askbus_gateway.sse.turns import TurnStreams
from askbus_gateway.sse.view import View


@dataclass(frozen=True)
class Streamed:
    """The answer is this turn's stream, as `view` shows it to the principal."""

    by: Principal
    turn_id: UUID
    view: View


Endpoint = Callable[[Request], Awaitable[Response | Streamed]]


class Streaming:
    """An ASGI endpoint around one that returns a response or says what to stream."""

    def __init__(self, streams: TurnStreams, endpoint: Endpoint) -> None:
        self.streams = streams
        self.endpoint = endpoint
        update_wrapper(self, endpoint)

    async def __call__(self, scope: dict[str, Any], receive: Receive, send: Send) -> None:
        request = Request(scope, receive)
        try:
            answer = await self.endpoint(request)
        except Exception as error:  # noqa: BLE001  # the last resort of this door
            answer = refusal_of(error, request)
        if isinstance(answer, Streamed):
            await self.streams.serve(scope, receive, send, answer.by, answer.turn_id, view=answer.view)
        else:
            await answer(scope, receive, send)  # type: ignore[arg-type]  # Starlette's types are wider than ours


def whole(data: bytes, headers: list[tuple[bytes, bytes]]) -> Response:
    """A stream that is over already."""
    return Response(data, headers={name.decode(): value.decode() for name, value in headers})
