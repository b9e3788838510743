"""GET /v1/events: the one stream of a user."""

import asyncio
from typing import Any

import structlog
from starlette.requests import Request

from askbus.db.outages import OUTAGES
from askbus.errors import InvalidInput
from askbus.runtime.health import Receive, Send
from askbus_gateway.http.gate import Gate, refusal_of
from askbus_gateway.sse.hub import Hub
from askbus_gateway.sse.response import HEADERS, RETRY, abort_of, end_when_gone, send_all
from askbus_gateway.sse.rules import RULES
from askbus_gateway.sse.stream import Stream

log = structlog.get_logger()


class Events:
    """The ASGI endpoint. `heartbeat` and `age` in seconds; the age is jittered so that clients do not all come back at once."""

    def __init__(self, gate: Gate, hub: Hub, *, heartbeat: float, age: float) -> None:
        self.gate = gate
        self.hub = hub
        self.heartbeat = heartbeat
        self.age = age

    async def __call__(self, scope: dict[str, Any], receive: Receive, send: Send) -> None:
        request = Request(scope, receive)
        try:
            principal = await self.gate.principal(request)
            entities = _entities(request)
        except Exception as error:  # noqa: BLE001  # the last resort of this door
            await refusal_of(error, request)(scope, receive, send)  # type: ignore[arg-type]
            return
        await send({"type": "http.response.start", "status": 200, "headers": HEADERS})
        if scope["method"] == "HEAD":
            await send({"type": "http.response.body", "body": b""})
            return
        await send({"type": "http.response.body", "body": RETRY, "more_body": True})
        last_id = request.headers.get("last-event-id") or request.query_params.get("after")
        await self._serve(Stream(principal, entities, abort_of(scope)), last_id, receive, send)

    async def _serve(self, stream: Stream, last_id: str | None, receive: Receive, send: Send) -> None:
        gone = asyncio.create_task(end_when_gone(receive, stream))
        try:
            try:
                await self.hub.join(stream, last_id)
            except OUTAGES as error:
                # Ended rather than refused: a browser that is answered with an error does not come back.
                log.warning("stream.not_joined", error=type(error).__name__)
                stream.end()
            await send_all(stream, send, heartbeat=self.heartbeat, age=self.age)
        finally:
            gone.cancel()
            self.hub.leave(stream)


def _entities(request: Request) -> frozenset[str] | None:
    wanted = request.query_params.get("entities")
    if not wanted:
        return None
    names = frozenset(name.strip() for name in wanted.split(","))
    if unknown := sorted(names - RULES.keys()):
        raise InvalidInput(f"There is no entity {unknown[0]!r} to follow. Choose from {', '.join(sorted(RULES))}.")
    return names
