"""/v1/connected-apps: what people let act for them over MCP, and the workspace's switch."""

from typing import Literal

from pydantic import BaseModel, ConfigDict
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from askbus.errors import PermissionDenied
from askbus.oauth import reads, verbs
from askbus.runtime.telemetry import traceparent
from askbus_gateway.http.described import Caller, described, route
from askbus_gateway.http.gate import Gate, body, path_id, present, query, require_person
from askbus_gateway.oauth.addresses import Addresses


class Whose(BaseModel):
    """`workspace` asks for everybody's; it is for owners and admins."""

    model_config = ConfigDict(frozen=True, extra="forbid")
    of: Literal["me", "workspace"] = "me"


class Switch(BaseModel):
    """Whether agents may come in over MCP, with whatever credentials."""

    model_config = ConfigDict(frozen=True, extra="forbid")
    mcp: bool


class AppList(BaseModel):
    """Apps whose grants last; `mcp` is the workspace's switch, `url` where agents find MCP."""

    mcp: bool
    url: str
    apps: tuple[reads.App, ...]


class ConnectedApps:
    """The routes of connected apps."""

    def __init__(self, gate: Gate) -> None:
        self.gate = gate

    def routes(self) -> list[Route]:
        return [
            route("GET", "/v1/connected-apps", self.list),
            route("PATCH", "/v1/connected-apps", self.switch),
            route("DELETE", "/v1/connected-apps/{id}", self.remove),
        ]

    @described(AppList, query=Whose, caller=Caller.PERSON)
    async def list(self, request: Request) -> Response:
        """The apps that one connected, with last use; `of=workspace` for owners and admins: everybody's."""
        by = await self.gate.principal(request)
        require_person(by)
        wanted = query(request, Whose)
        apps = await reads.apps_of(self.gate.pool, by, everybody=wanted.of == "workspace")
        on = await reads.mcp_is_on(self.gate.pool, by.workspace_id)
        return present(AppList(mcp=on, url=Addresses(self.gate.public_url).resource, apps=apps))

    @described(Switch, body=Switch, caller=Caller.PERSON)
    async def switch(self, request: Request) -> Response:
        """Let agents in over MCP, or keep all of them out at once; for owners and admins."""
        by = await self.gate.principal(request)
        require_person(by)
        said = await body(request, Switch)
        await verbs.set_mcp(self.gate.pool, by, on=said.mcp)
        return present(said)

    @described({204: None}, refuses=(PermissionDenied,), caller=Caller.PERSON)
    async def remove(self, request: Request) -> Response:
        """Remove an app: its tokens are worth nothing from then on. Owners and admins may remove anybody's."""
        by = await self.gate.principal(request)
        require_person(by)
        await verbs.remove_app(self.gate.pool, by, path_id(request), trace=traceparent())
        return Response(status_code=204)
