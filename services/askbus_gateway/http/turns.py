"""/v1/threads/{id}/turns and /v1/turns: a message and what becomes of it, as JSON or as the stream itself."""

from collections.abc import Awaitable, Callable
from functools import update_wrapper
from typing import Annotated, Any
from uuid import UUID

from pydantic import BaseModel, ConfigDict, Field
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from askbus.access.model import Principal, Scope
from askbus.db.ids import new_id
from askbus.limits.model import Limited
from askbus.runtime.health import Receive, Send
from askbus.turns import reads
from askbus.turns.model import (
    MOST_ATTACHMENTS,
    MOST_CONTEXT,
    CancelTurn,
    ClientMessageId,
    Context,
    MessageText,
    Overlap,
    RetryTurn,
    StartTurn,
    Turn,
    TurnDetail,
)
from askbus_gateway.http.described import described, event_stream, route
from askbus_gateway.http.gate import Gate, NoBody, body, command_id, guarded, path_id, present, refusal_of
from askbus_gateway.sse.turns import TurnStreams

STREAM = event_stream("The turn's stream: docs/api.md has its events.")


class TurnBody(BaseModel):
    """A message. The same `client_message_id` sent again finds the first turn; without one each send is a message of its own."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    text: MessageText
    client_message_id: ClientMessageId | None = None
    overlap: Overlap = Overlap.ENQUEUE
    attachments: Annotated[tuple[UUID, ...], Field(max_length=MOST_ATTACHMENTS)] = ()
    context: Annotated[tuple[Context, ...], Field(max_length=MOST_CONTEXT)] = ()


class RetryBody(BaseModel):
    """The same `client_message_id` sent again finds the first turn that it made."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    client_message_id: ClientMessageId | None = None
    overlap: Overlap = Overlap.ENQUEUE


class FollowQuery(BaseModel):
    """`after` is for whoever cannot set Last-Event-ID."""

    after: str | None = None


class Turns:
    """The routes of turns."""

    def __init__(self, gate: Gate, streams: TurnStreams) -> None:
        self.gate = gate
        self.streams = streams

    def routes(self) -> list[Route]:
        return [
            route("POST", "/v1/threads/{id}/turns", _Start(self, self.start)),
            route("POST", "/v1/turns/{id}/retry", _Start(self, self.retry)),
            route("GET", "/v1/turns/{id}", self.get),
            route("GET", "/v1/turns/{id}/events", _Follow(self)),
            route("POST", "/v1/turns/{id}/cancel", self.cancel),
        ]

    @described(
        {200: STREAM, 201: Turn},
        body=TurnBody,
        headers={"Accept": "`text/event-stream` for the stream."},
        scope=Scope.CHAT,
        idempotent=True,
        limited=True,
    )
    async def start(self, request: Request) -> tuple[Principal, Turn]:
        """A message; answers with the turn, or with its stream."""
        by = await self.gate.principal(request)
        thread_id = path_id(request)
        said = await body(request, TurnBody)
        key = command_id(request)
        command = StartTurn(
            command_id=key,
            by=by,
            turn_id=new_id(),
            thread_id=thread_id,
            client_message_id=said.client_message_id or str(key),
            text=said.text,
            overlap=said.overlap,
            attachments=said.attachments,
            context=said.context,
        )
        await self.gate.limits.take(Limited.CHAT, by)
        return by, await self.gate.commands.ask(command)

    @described(
        {200: STREAM, 201: Turn},
        body=RetryBody,
        headers={"Accept": "`text/event-stream` for the stream."},
        scope=Scope.CHAT,
        idempotent=True,
        limited=True,
    )
    async def retry(self, request: Request) -> tuple[Principal, Turn]:
        """Answer its message once more; the old turn stays, marked as replaced."""
        by = await self.gate.principal(request)
        again = path_id(request)
        said = await body(request, RetryBody)
        key = command_id(request)
        command = RetryTurn(
            command_id=key,
            by=by,
            turn_id=new_id(),
            again=again,
            client_message_id=said.client_message_id or str(key),
            overlap=said.overlap,
        )
        await self.gate.limits.take(Limited.CHAT, by)
        return by, await self.gate.commands.ask(command)

    @described(TurnDetail, scope=Scope.CHAT)
    async def get(self, request: Request) -> Response:
        """The turn as it stands."""
        by = await self.gate.principal(request)
        return present(await reads.get(self.gate.pool, by, path_id(request)))

    @described(TurnDetail, body=NoBody, scope=Scope.CHAT, idempotent=True)
    async def cancel(self, request: Request) -> Response:
        """Stop it."""
        by = await self.gate.principal(request)
        await body(request, NoBody)
        turn = await self.gate.commands.ask(CancelTurn(command_id=command_id(request), by=by, turn_id=path_id(request)))
        return present(await reads.get(self.gate.pool, by, turn.id))


Start = Callable[[Request], Awaitable[tuple[Principal, Turn]]]
Answer = Callable[[dict[str, Any], Receive, Send], Awaitable[None]]


class _Start:
    """POST: the turn is stored, then answered with itself, or with its stream where the client accepts one."""

    def __init__(self, turns: Turns, start: Start) -> None:
        self.turns = turns
        self.start = start
        update_wrapper(self, start)

    async def __call__(self, scope: dict[str, Any], receive: Receive, send: Send) -> None:
        request = Request(scope, receive)
        wants_stream = "text/event-stream" in request.headers.get("accept", "")

        async def answer(request: Request) -> Response:
            _by, turn = await self.start(request)
            return present(turn, 201)

        if not wants_stream:
            await _respond(await guarded(answer)(request), scope, receive, send)
            return
        try:
            by, turn = await self.start(request)
        except Exception as error:  # noqa: BLE001  # the last resort of this door
            await _respond(refusal_of(error, request), scope, receive, send)
            return
        await self.turns.streams.serve(scope, receive, send, by, turn.id, after=None)


class _Follow:
    """GET: a turn's stream, from its beginning or from the event after `Last-Event-ID`."""

    def __init__(self, turns: Turns) -> None:
        self.turns = turns

    @described(STREAM, query=FollowQuery, headers={"Last-Event-ID": "The last event that one has."}, scope=Scope.CHAT)
    async def __call__(self, scope: dict[str, Any], receive: Receive, send: Send) -> None:
        """Its stream, from the beginning or after `Last-Event-ID`."""
        request = Request(scope, receive)
        after = request.headers.get("last-event-id") or request.query_params.get("after")
        try:
            by = await self.turns.gate.principal(request)
            turn_id: UUID = path_id(request)
            await reads.get(self.turns.gate.pool, by, turn_id)
        except Exception as error:  # noqa: BLE001  # the last resort of this door
            await _respond(refusal_of(error, request), scope, receive, send)
            return
        await self.turns.streams.serve(scope, receive, send, by, turn_id, after=after or None)


async def _respond(response: Response, scope: dict[str, Any], receive: Receive, send: Send) -> None:
    await response(scope, receive, send)  # type: ignore[arg-type]  # Starlette's types are wider than ours
