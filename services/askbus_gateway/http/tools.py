"""/v1/tools: the same tools that the model has, for programs."""

from collections.abc import Iterable
from uuid import UUID

from pydantic import BaseModel, ConfigDict, JsonValue
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from askbus.access.tool_calls import audit_tool_call
from askbus.errors import NotFound
from askbus.limits.model import Limited
from askbus.runtime.settings import Settings
from askbus.tools.model import CallTool, ToolAnswer, ToolSpec
from askbus.tools.openapi import document
from askbus_gateway.http.described import Media, described, route
from askbus_gateway.http.gate import Gate, body, command_id, present, while_connected

DOCUMENT = Media(("application/json",), "The document.")

LONGER = 5.0
"""Seconds that a call may take beyond the tool's own time: the way to the tool-runner and back."""


class CallBody(BaseModel):
    """Where the call belongs, and the tool's arguments."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    project_id: UUID
    arguments: dict[str, JsonValue] = {}


class Tools:
    """The routes of tools. Those that need a conversation, or may not be run twice, are not among them."""

    def __init__(self, gate: Gate, tools: Iterable[ToolSpec], settings: Settings) -> None:
        self.gate = gate
        self.tools = {spec.name: spec for spec in tools if spec.direct}
        self.seconds = settings.tool_seconds + LONGER

    def routes(self) -> list[Route]:
        return [
            route("GET", "/v1/tools", self.list),
            route("POST", "/v1/tools/{name}", self.call),
        ]

    @described(DOCUMENT)
    async def list(self, request: Request) -> Response:
        """Those that the caller may use, as an OpenAPI 3.1 document."""
        by = await self.gate.principal(request)
        return JSONResponse(document(spec for spec in self.tools.values() if by.may(spec.scope)))

    @described(ToolAnswer, body=CallBody, params={"name": str}, idempotent=True, limited=True)
    async def call(self, request: Request) -> Response:
        """Run one; GET /v1/tools describes each."""
        by = await self.gate.principal(request)
        spec = self.tools.get(request.path_params["name"])
        if spec is None:
            raise NotFound("There is no tool of this name that can be called directly. GET /v1/tools lists them.")
        by.require(spec.scope)
        said = await body(request, CallBody)
        command = CallTool(
            command_id=command_id(request), by=by, project_id=said.project_id, name=spec.name, arguments=said.arguments
        )
        await self.gate.limits.take(Limited.TOOLS, by)
        await audit_tool_call(self.gate.pool, by, spec.name, command.command_id, event="tool.called")
        answer: ToolAnswer = await while_connected(request, self.gate.commands.ask(command, timeout=self.seconds))
        return present(answer)
