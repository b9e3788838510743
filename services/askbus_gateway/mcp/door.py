"""The one address of the MCP server, `/mcp`: who may knock, with what, and how it is answered.

Whoever calls shows a bearer token with each request: no cookie counts here, no token in the address, and nothing is remembered between two
requests. So a page of another origin can do nothing that its own token does not allow, and CORS is open; only on this machine itself,
where a name of somebody else's may lead to this port, are Host and Origin held to be this machine's.
"""

import asyncio
from collections.abc import Mapping
from contextlib import AbstractContextManager, nullcontext
from urllib.parse import urlsplit

import structlog
from pydantic import JsonValue
from pydantic_core import from_json
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.routing import Route
from starlette.types import Receive, Scope, Send

from askbus.access import reads
from askbus.access.credentials import is_api_token
from askbus.access.model import Principal
from askbus.bus import faults
from askbus.db.outages import is_outage
from askbus.errors import AskbusError, Internal, InvalidInput, PermissionDenied, Unavailable
from askbus.incoming import LARGEST_BODY, refuse_hostile
from askbus.limits.model import Limited
from askbus.oauth.model import ACCESS_PREFIX, GRANTABLE
from askbus.oauth.reads import mcp_is_off, principal_of_access_token
from askbus.runtime.telemetry import carried_trace, span_of_message
from askbus_gateway.http.gate import LOOPBACK, Gate, read, refusal, while_connected
from askbus_gateway.mcp.protocol import (
    STATUS,
    UNNAMED,
    VERSION_HEADER,
    Code,
    Incoming,
    ProtocolError,
    read_message,
)
from askbus_gateway.mcp.server import InsufficientScopeError, Report, Server, response
from askbus_gateway.mcp.server import refusal as protocol_refusal
from askbus_gateway.mcp.stream import Stream
from askbus_gateway.mcp.tool import Progress
from askbus_gateway.oauth.addresses import Addresses

log = structlog.get_logger()

PATH = "/mcp"
MOST_IN_BATCH = 20
"""Messages in one body of 2025-03-26, the one revision that has batches."""

CORS = {
    "Access-Control-Allow-Origin": "*",
    "Access-Control-Expose-Headers": "WWW-Authenticate, Mcp-Session-Id, Mcp-Protocol-Version, Retry-After",
}
PREFLIGHT = {
    **CORS,
    "Access-Control-Allow-Methods": "POST",
    "Access-Control-Allow-Headers": "authorization, content-type, accept, mcp-protocol-version, mcp-method, mcp-name, mcp-session-id, "
    "last-event-id, traceparent",
    "Access-Control-Max-Age": "86400",
}


class Door:
    """The endpoint, as an ASGI application."""

    def __init__(self, gate: Gate, server: Server, *, quiet: float) -> None:
        self.gate = gate
        self.server = server
        self.quiet = quiet
        """Seconds after which a response that is not there yet becomes a stream, so that nobody between takes the silence for an end."""
        self.addresses = Addresses(gate.public_url)
        self.local = urlsplit(gate.public_url).hostname in LOOPBACK

    def routes(self) -> list[Route]:
        return [Route(PATH, self)]

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        request = Request(scope, receive)
        try:
            answer = await self._answer(request)
        except Exception as error:  # noqa: BLE001  # the last resort of this door
            answer = self._trouble(error)
        if answer is not None:
            answer.headers.update(CORS if request.method != "OPTIONS" else {})
            await answer(scope, receive, send)

    async def _answer(self, request: Request) -> Response:
        if request.method == "OPTIONS":
            return Response(status_code=204, headers=PREFLIGHT)
        if request.method != "POST":
            return Response(status_code=405, headers={"Allow": "POST, OPTIONS"})
        if self.local:
            refuse_other_machines(request.headers)
        by = await self._caller(request)
        if by is None:
            return self._challenge(sent=request.headers.get("authorization") is not None)
        await self.gate.limits.take(Limited.MCP, by)
        try:
            sent = await _sent(request)
            if isinstance(sent, list):
                return await self._batch(request, sent, by)
            incoming = _read(request, sent)
            return Response(status_code=202) if incoming is None else await self._one(request, incoming, by)
        except ProtocolError as error:
            return _json(protocol_refusal(error), STATUS.get(error.code, 200))
        except UnsupportedMediaError:
            return Response(status_code=415)
        except InsufficientScopeError as error:
            return self._forbidden(error)

    async def _caller(self, request: Request) -> Principal | None:
        """Who the bearer token stands for now: an API token, or an app's access token for this address. None for whatever else there is,
        and where it counts no more. Raises PermissionDenied where the workspace lets no agents in over MCP."""
        scheme, _, token = request.headers.get("authorization", "").partition(" ")
        token = token.strip()
        if scheme.lower() != "bearer":
            return None
        if token.startswith(ACCESS_PREFIX):
            return await principal_of_access_token(self.gate.pool, token, self.addresses.resource)
        found = await reads.agent_of_token(self.gate.pool, token) if is_api_token(token) else None
        if found is None:
            return None
        by, let_in = found
        if not let_in:
            raise mcp_is_off()
        return by

    def _challenge(self, *, sent: bool) -> Response:
        """RFC 6750, section 3.1: what is wrong is said to whoever sent something alone."""
        wrong = 'error="invalid_token", ' if sent else ""
        words = "This token is unknown, revoked, expired or meant for somebody else." if sent else "Send a bearer token."
        challenge = f'Bearer {wrong}resource_metadata="{self.addresses.resource_metadata}", scope="{" ".join(GRANTABLE)}"'
        body = protocol_refusal(ProtocolError(Code.INVALID_REQUEST, words))
        return _json(body, 401, {"WWW-Authenticate": challenge})

    def _forbidden(self, error: InsufficientScopeError) -> Response:
        """RFC 6750, section 3.1: which scopes a token for this would have."""
        scope = " ".join(error.scopes)
        challenge = f'Bearer error="insufficient_scope", scope="{scope}", resource_metadata="{self.addresses.resource_metadata}"'
        told = ProtocolError(Code.INVALID_REQUEST, f"This token lacks the scope {scope}.", {"scope": scope})
        told.request_id = error.request_id
        return _json(protocol_refusal(told), 403, {"WWW-Authenticate": challenge})

    async def _one(self, request: Request, incoming: Incoming, by: Principal) -> Response:
        if incoming.id is None:
            return Response(status_code=202)
        self.server.check(incoming, by)
        tool = self.server.called(incoming)
        if tool is None or not tool.may_take_long(incoming):
            return _json(*await self._message(incoming, by, _unheard))
        accepts = request.headers.get("accept", "")
        streams = "text/event-stream" in accepts or "*/*" in accepts
        return Stream(incoming, lambda report: self._message(incoming, by, report), quiet=self.quiet if streams else None)

    async def _message(self, incoming: Incoming, by: Principal, report: Report) -> tuple[bytes, int]:
        """The response to a request, and its status."""
        try:
            with self._traced(incoming):
                return response(incoming.id, await self.server.result(incoming, by, report)), 200
        except ProtocolError as error:
            error.request_id = incoming.id
            return protocol_refusal(error), STATUS.get(error.code, 200) if incoming.modern else 200

    def _traced(self, incoming: Incoming) -> AbstractContextManager[object]:
        """A span of the message's own, where it carries a trace in `_meta` (2026-07-28, `_meta`): the client's call goes before whatever
        the HTTP request continues, which is linked (OpenTelemetry, semantic conventions for MCP, context propagation)."""
        trace = carried_trace(incoming.meta.get("traceparent"), incoming.meta.get("tracestate"))
        if trace is None:
            return nullcontext()
        tool = self.server.called(incoming)
        name = "mcp" if tool is None else f"tools/call {tool.name}"
        return span_of_message(name, trace, **{"mcp.protocol.version": incoming.revision})

    async def _batch(self, request: Request, sent: list[JsonValue], by: Principal) -> Response:
        """2025-03-26 alone has batches: each message for itself and counted as one, all at once, and one response for all of them. Where
        one of them needs another token, none of them has begun."""
        if request.headers.get(VERSION_HEADER, UNNAMED) != UNNAMED or not 0 < len(sent) <= MOST_IN_BATCH:
            raise ProtocolError(Code.INVALID_REQUEST, "Send one message at a time.")
        if len(sent) > 1:
            await self.gate.limits.take(Limited.MCP, by, len(sent) - 1)
        read = [_read_one(request, one) for one in sent]
        for one in read:
            if isinstance(one, Incoming):
                self.server.check(one, by)
        answers = [
            self._message(one, by, _unheard) if isinstance(one, Incoming) else _refused(one)
            for one in read
            if isinstance(one, ProtocolError) or (one is not None and one.id is not None)
        ]
        if not answers:
            return Response(status_code=202)
        bodies = await while_connected(request, asyncio.gather(*answers))
        return _json(b"[" + b",".join(body for body, _status in bodies) + b"]")

    def _trouble(self, error: Exception) -> Response:
        """What left the door otherwise: ours as every other door says it, a defect as one."""
        if isinstance(error, AskbusError):
            return refusal(error)
        if isinstance(error, ClientDisconnect):
            return Response(status_code=400)
        if is_outage(error):
            log.warning("mcp.outage", error=type(error).__name__)
            return refusal(Unavailable("The database is not reachable right now. Try again."))
        log.error("mcp.failed", error=faults.kind(error), frames=faults.stack(error))
        return refusal(Internal.hidden())


class UnsupportedMediaError(Exception):
    """The body is said to be something else than JSON."""


def refuse_other_machines(headers: Mapping[str, str]) -> None:
    """Where askbus runs for this machine alone: raises PermissionDenied for a Host or an Origin of another name, which a page elsewhere may
    have bound to this address (DNS rebinding)."""
    origin = headers.get("origin")
    if not _is_here(f"//{headers.get('host', '')}") or (origin is not None and not _is_here(origin)):
        raise PermissionDenied(
            "This server is for this machine alone. Set ASKBUS_PUBLIC_URL to the address at which it is reached."
        )


def _is_here(address: str) -> bool:
    try:
        return urlsplit(address).hostname in LOOPBACK
    except ValueError:  # no address, so nobody's
        return False


async def _sent(request: Request) -> JsonValue:
    """The JSON of the body. Raises ProtocolError, and TooLarge for what is over the cap."""
    if request.headers.get("content-type", "").partition(";")[0].strip().lower() != "application/json":
        raise UnsupportedMediaError
    data = await read(request, LARGEST_BODY)
    try:
        refuse_hostile(data)
        sent: JsonValue = from_json(data, allow_inf_nan=False)
    except (InvalidInput, ValueError):
        raise ProtocolError(
            Code.PARSE_ERROR, "The body is no JSON, or is nested too deep, or has the character U+0000."
        ) from None
    return sent


def _read(request: Request, sent: JsonValue) -> Incoming | None:
    return read_message(sent, request.headers.items(), user_agent=request.headers.get("user-agent", ""))


def _read_one(request: Request, sent: JsonValue) -> Incoming | ProtocolError | None:
    """A message of a batch, or what is wrong with it."""
    try:
        return _read(request, sent)
    except ProtocolError as error:
        return error


async def _refused(error: ProtocolError) -> tuple[bytes, int]:
    return protocol_refusal(error), 200


def _json(body: bytes, status: int = 200, headers: Mapping[str, str] | None = None) -> Response:
    return Response(body, status, headers, media_type="application/json")


def _unheard(_progress: Progress) -> None:
    """Nobody asked to be told."""
