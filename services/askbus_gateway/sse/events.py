"""GET /v1/events, the one stream of a user, and GET /v1/changes, the same for a client that polls."""

from typing import Any

import structlog
from pydantic import BaseModel, Field, JsonValue
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from askbus.db.outages import OUTAGES
from askbus.errors import InvalidInput, Unauthenticated
from askbus.runtime.health import Receive, Send
from askbus_gateway.http.described import described, event_stream, route
from askbus_gateway.http.gate import Gate, present, query, refusal_of
from askbus_gateway.sse.catch_up import Missed, Opening, Reset
from askbus_gateway.sse.hub import Hub
from askbus_gateway.sse.response import HEADERS, RETRY
from askbus_gateway.sse.rules import RULES
from askbus_gateway.sse.stream import Stream, shown

log = structlog.get_logger()

STREAM = event_stream("What happens, by ids and states: docs/api.md has its events.")


class Poll(BaseModel):
    """`after`: the id of the last poll, or of the last event of a stream."""

    after: str | None = None
    entities: str | None = None


class Polled(BaseModel):
    """The news since the last poll. Come back with `id`.

    `state` is set at the first poll and after a `reset`, and replaces everything; else `changes` tells what moved, in order.
    """

    id: str
    reset: str | None = None
    state: dict[str, JsonValue] | None = None
    changes: list[dict[str, JsonValue]] = Field(default_factory=list)


class Events:
    """The ASGI endpoint. Once the response has begun, the connection is the stream's own."""

    def __init__(self, gate: Gate, hub: Hub) -> None:
        self.gate = gate
        self.hub = hub

    def routes(self) -> list[Route]:
        return [
            route("GET", "/v1/events", self),
            route("GET", "/v1/changes", self.changes),
        ]

    @described(STREAM, query=Poll, headers={"Last-Event-ID": "The last event that one has."})
    async def __call__(self, scope: dict[str, Any], receive: Receive, send: Send) -> None:
        """A user's one stream; `entities` narrows it."""
        request = Request(scope, receive)
        try:
            principal = await self.gate.principal(request)
            entities = _entities(request.query_params.get("entities"))
        except Exception as error:  # noqa: BLE001  # the last resort of this door
            await refusal_of(error, request)(scope, receive, send)  # type: ignore[arg-type]
            return
        await send({"type": "http.response.start", "status": 200, "headers": HEADERS})
        if scope["method"] == "HEAD":
            await send({"type": "http.response.body", "body": b""})
            return
        await send({"type": "http.response.body", "body": RETRY, "more_body": True})
        stream = Stream(principal, entities, self.hub)
        stream.transport = scope["askbus.hand_over"](stream)
        if stream.transport is not None:
            stream.transport.set_write_buffer_limits(0)
            await self._join(stream, request.headers.get("last-event-id") or request.query_params.get("after"))

    async def _join(self, stream: Stream, last_id: str | None) -> None:
        try:
            await self.hub.join(stream, last_id)
        except OUTAGES as error:
            # Ended rather than refused: a browser that is answered with an error does not come back.
            log.warning("stream.not_joined", error=type(error).__name__)
            stream.end()
        except BaseException:
            stream.cut()
            raise

    @described(Polled, query=Poll)
    async def changes(self, request: Request) -> Response:
        """What came `after` a position, for a client that polls; a state where there is no such position, or none was given."""
        by = await self.gate.principal(request)
        asked = query(request, Poll)
        entities = _entities(asked.entities)
        reset, found = None, None
        if asked.after:
            try:
                found = _told(await self.hub.catch_up.missed(by, entities, asked.after))
            except (Reset, InvalidInput) as error:
                log.info("poll.reset", reason=error.message if isinstance(error, Reset) else "not an id of ours")
                reset = "position"
        if found is None:
            found = _opened(await self.hub.catch_up.opening(by, entities), reset)
        return present(found, headers={"cache-control": "no-store"})


def _told(found: Missed | None) -> Polled:
    if found is None:
        raise Unauthenticated("This session or token ended.")
    return Polled(id=str(found.at), changes=[shown(change) for change in found.changes])


def _opened(found: Opening | None, reset: str | None) -> Polled:
    if found is None:
        raise Unauthenticated("This session or token ended.")
    return Polled(id=str(found.at), reset=reset, state=found.state)


def _entities(wanted: str | None) -> frozenset[str] | None:
    if not wanted:
        return None
    names = frozenset(name.strip() for name in wanted.split(","))
    if unknown := sorted(names - RULES.keys()):
        raise InvalidInput(f"There is no entity {unknown[0]!r} to follow. Choose from {', '.join(sorted(RULES))}.")
    return names
