"""What a tool of the MCP door is, and what a call of it knows and may do."""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import TypeVar

from pydantic import BaseModel, JsonValue, ValidationError
from pydantic_core import to_json

from askbus.access.model import Principal, Scope, scopes_of
from askbus_gateway.http.gate import invalid
from askbus_gateway.mcp.protocol import Incoming, Object
from askbus_gateway.mcp.shapes import Schema

B = TypeVar("B", bound=BaseModel)


@dataclass(frozen=True)
class Progress:
    """How far a call is, as the client may show it."""

    done: float
    message: str
    total: float | None = None


@dataclass(frozen=True)
class Call:
    """One call of a tool: who calls, with what, by which message; `report` tells the client how far it is, if it wants to know."""

    by: Principal
    arguments: Object
    incoming: Incoming
    report: Callable[[Progress], None]


@dataclass(frozen=True)
class Reply:
    """What a call came to. `text` is short: the workspace, ids, states, links. Everything else is in `structured`, and there alone; a
    client whose revision has no structured content gets that as text. `blocks` is content that is no text."""

    text: str
    structured: Object | None = None
    blocks: tuple[Object, ...] = ()


@dataclass(frozen=True)
class InputRequired:
    """The client is to do something first and to call again with what came of it (2026-07-28, multi-round-trip requests)."""

    requests: Object | None
    state: str | None


Outcome = Reply | InputRequired


@dataclass(frozen=True)
class Tool:
    """A tool. `scopes`: the caller must be allowed one of them, where any are named. `slow`: it may take longer than a client waits that
    goes away meanwhile; `waits`: so does one with `wait_seconds`. `run` raises AskbusError for what the caller is to be told."""

    name: str
    description: str
    arguments: Schema
    output: Schema | None
    run: Callable[[Call], Awaitable[Outcome]]
    scopes: tuple[Scope, ...] = ()
    reads: bool = False
    slow: bool = False
    waits: bool = False

    def may_take_long(self, incoming: Incoming) -> bool:
        """Whether the client of this call may go away before it is done, or want to hear how far it is."""
        arguments = incoming.params.get("arguments")
        wants_to_wait = isinstance(arguments, dict) and bool(arguments.get("wait_seconds"))
        return self.slow or (self.waits and wants_to_wait)

    def allowed(self, by: Principal) -> bool:
        return not self.scopes or any(by.may(scope) for scope in self.scopes)

    def grantable(self, by: Principal) -> bool:
        """Whether a wider grant would help: the role of the caller's owner allows it."""
        return not by.scopes.isdisjoint(self.scopes) or not scopes_of(by.role, demo=by.demo, demo_chat=False).isdisjoint(
            self.scopes
        )

    def listed(self, *, structured: bool) -> Object:
        """The tool as `tools/list` shows it to a client whose revision has structured content, or has not."""
        shown: Object = {"name": self.name, "description": self.description, "inputSchema": self.arguments}
        if self.output is not None and structured:
            shown["outputSchema"] = self.output
        if self.reads:
            shown["annotations"] = {"readOnlyHint": True}
        return shown


def read(model: type[B], arguments: Mapping[str, JsonValue]) -> B:
    """The arguments as the model. A null at the top means not given, as language models write it. Raises InvalidInput naming each that is
    wrong, without what was sent."""
    try:
        return model.model_validate_json(to_json({name: value for name, value in arguments.items() if value is not None}))
    except ValidationError as error:
        raise invalid(error) from None
