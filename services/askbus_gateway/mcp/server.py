"""The methods of the protocol: who we are, which tools there are for this caller, and calling one."""

import json
from collections.abc import Awaitable, Callable, Iterable
from importlib.metadata import version
from uuid import UUID

import structlog
from pydantic import JsonValue
from pydantic_core import to_json

from askbus.access.model import Principal
from askbus.bus import faults
from askbus.db.ids import new_id
from askbus.db.outages import is_outage
from askbus.errors import AskbusError, Internal, PermissionDenied, Unavailable
from askbus_gateway.mcp.protocol import (
    HANDSHAKE,
    REVISIONS,
    SERVER_META,
    Code,
    Incoming,
    Object,
    ProtocolError,
    RequestId,
)
from askbus_gateway.mcp.tool import Call, InputRequired, Outcome, Progress, Reply, Tool

log = structlog.get_logger()

Report = Callable[[Progress], None]
Audit = Callable[[Principal, Tool, UUID], Awaitable[None]]

INFO: Object = {"name": "askbus", "title": "askbus", "version": version("askbus")}
INSTRUCTIONS = (
    "askbus connects you with the people you work for and their records. Find names with search_workspace first. Records change only by "
    "propose_changes, which a person confirms. When only a person can decide, use ask_user_question; an open question is no answer: ask "
    "again later with get_question_answer."
)
FRESH = 60_000
"""Milliseconds for which a client may keep a list. What it may no longer use is refused when it is called."""


class InsufficientScopeError(Exception):
    """The caller's token lacks the scope of the tool; one that has it would be allowed the call."""

    def __init__(self, tool: Tool) -> None:
        super().__init__(tool.name)
        self.request_id: RequestId | None = None
        self.scopes = tuple(scope.value for scope in tool.scopes[:1])


class Server:
    """The tools of the door in their order, and the methods around them."""

    def __init__(self, tools: Iterable[Tool], audit: Audit) -> None:
        self.tools = {tool.name: tool for tool in tools}
        self.audit = audit

    def called(self, incoming: Incoming) -> Tool | None:
        """The tool that a message calls, if it calls one that there is."""
        name = incoming.params.get("name")
        return self.tools.get(name) if incoming.method == "tools/call" and isinstance(name, str) else None

    def check(self, incoming: Incoming, by: Principal) -> None:
        """Raises InsufficientScopeError where the message calls a tool that a token with another grant would be allowed."""
        tool = self.called(incoming)
        if tool is not None and not tool.allowed(by) and tool.grantable(by):
            error = InsufficientScopeError(tool)
            error.request_id = incoming.id
            raise error

    async def result(self, incoming: Incoming, by: Principal, report: Report) -> Object:
        """The result of a request that was checked. Raises ProtocolError."""
        match incoming.method:
            case "tools/call":
                return self._framed(incoming, await self._call(incoming, by, report))
            case "tools/list":
                return self._framed(incoming, self._list(incoming, by), kept=True)
            case "server/discover" if incoming.modern:
                return self._framed(incoming, self._discover(), kept=True)
            case "initialize" if not incoming.modern:
                return self._initialize(incoming)
            case "ping" if not incoming.modern:
                return {}
            case _:
                raise ProtocolError(Code.METHOD_NOT_FOUND, "There is no such method here.")

    def _framed(self, incoming: Incoming, result: Object, *, kept: bool = False) -> Object:
        """With what the later revision wants in every result, and in those that may be kept."""
        if incoming.modern:
            result = {"resultType": "complete", **result, "_meta": {SERVER_META: INFO}}
            if kept:
                result |= {"ttlMs": FRESH, "cacheScope": "private"}
        return result

    def _discover(self) -> Object:
        return {"supportedVersions": list(REVISIONS), "capabilities": {"tools": {}}, "instructions": INSTRUCTIONS}

    def _initialize(self, incoming: Incoming) -> Object:
        wanted = incoming.params.get("protocolVersion")
        if not isinstance(wanted, str):
            raise ProtocolError(Code.INVALID_PARAMS, "params.protocolVersion says which revision the client speaks.")
        chosen = wanted if wanted in HANDSHAKE else HANDSHAKE[0]
        return {"protocolVersion": chosen, "capabilities": {"tools": {}}, "serverInfo": INFO, "instructions": INSTRUCTIONS}

    def _list(self, incoming: Incoming, by: Principal) -> Object:
        if incoming.params.get("cursor") is not None:
            raise ProtocolError(Code.INVALID_PARAMS, "The list of tools is one page: send no cursor.")
        return {"tools": [tool.listed(structured=incoming.structured) for tool in self.tools.values() if tool.allowed(by)]}

    async def _call(self, incoming: Incoming, by: Principal, report: Report) -> Object:
        tool = self.called(incoming)
        arguments = incoming.params.get("arguments")
        if tool is None:
            raise ProtocolError(Code.INVALID_PARAMS, "There is no such tool. tools/list names those there are.")
        if arguments is not None and not isinstance(arguments, dict):
            raise ProtocolError(Code.INVALID_PARAMS, "A tool's arguments are an object.")
        call_id = new_id()
        try:
            if not tool.allowed(by):
                by.require(tool.scopes[0])
            await self.audit(by, tool, call_id)
            outcome = await tool.run(Call(by, arguments or {}, incoming, report))
        except AskbusError as error:
            return _failed(error)
        except Exception as error:  # noqa: BLE001  # the last resort of this door
            return _failed(_told(error, tool, call_id))
        return _shown(outcome, incoming)


def _told(error: Exception, tool: Tool, call_id: UUID) -> AskbusError:
    """What a caller hears of what no tool raises on purpose."""
    if isinstance(error, ProtocolError | PermissionDenied):
        raise error
    if is_outage(error):
        log.warning("mcp.outage", tool=tool.name, call_id=str(call_id), error=type(error).__name__)
        return Unavailable("The database is not reachable right now. Try again.")
    log.error("mcp.failed", tool=tool.name, call_id=str(call_id), error=faults.kind(error), frames=faults.stack(error))
    return Internal.hidden()


def _failed(error: AskbusError) -> Object:
    """A tool's own failure is a result: the one shape of an error, as text, for the model to read and to do better."""
    return {"content": [_text(error.body().model_dump_json())], "isError": True}


def _shown(outcome: Outcome, incoming: Incoming) -> Object:
    match outcome:
        case InputRequired(requests=requests, state=state):
            asked: Object = {"resultType": "input_required"}
            if requests is not None:
                asked["inputRequests"] = requests
            return asked if state is None else {**asked, "requestState": state}
        case Reply(text=text, structured=structured, blocks=blocks):
            content: list[JsonValue] = [_text(text)] if text or not blocks else []
            content += blocks
            if structured is None:
                return {"content": content}
            if incoming.structured:
                return {"content": content, "structuredContent": structured}
            return {"content": [*content, _text(json.dumps(structured, ensure_ascii=False, separators=(",", ":")))]}


def _text(text: str) -> Object:
    return {"type": "text", "text": text}


def response(request_id: JsonValue, result: Object) -> bytes:
    """A JSON-RPC response."""
    return to_json({"jsonrpc": "2.0", "id": request_id, "result": result})


def refusal(error: ProtocolError) -> bytes:
    """A JSON-RPC error."""
    told: Object = {"code": int(error.code), "message": error.message}
    if error.data is not None:
        told["data"] = error.data
    return to_json({"jsonrpc": "2.0", "id": error.request_id, "error": told})


def progress(token: JsonValue, made: Progress) -> bytes:
    """A notification of how far a call is."""
    told: Object = {"progressToken": token, "progress": made.done, "message": made.message}
    if made.total is not None:
        told["total"] = made.total
    return to_json({"jsonrpc": "2.0", "method": "notifications/progress", "params": told})
