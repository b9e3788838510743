"""/v1/me, /v1/tokens, /v1/projects: who is here, and with what they may come back."""

from typing import Annotated
from uuid import UUID

from pydantic import BaseModel, ConfigDict, Field, StringConstraints
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from askbus.access import preferences, reads, verbs
from askbus.access.addresses import SHOWN
from askbus.access.holds import LONGEST_HOLD
from askbus.access.locales import Locale
from askbus.access.model import Scope
from askbus.access.zones import Moment, TimeZone
from askbus.errors import NotFound
from askbus.runtime.telemetry import traceparent
from askbus_gateway.http.described import Caller, described, route
from askbus_gateway.http.gate import Gate, body, path_id, present, require_person


class _Body(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class TokenBody(_Body):
    """A token starts with `data:read` alone; `projects` narrows it to some of the owner's. `mcp_hold`: seconds for which
    its calls over MCP may wait for people."""

    name: Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=200, pattern=SHOWN)]
    scopes: Annotated[tuple[Scope, ...], Field(min_length=1)] = (Scope.DATA_READ,)
    projects: Annotated[tuple[UUID, ...], Field(min_length=1, max_length=100)] | None = None
    expires_at: Moment | None = None
    mcp_hold: Annotated[int, Field(ge=1, le=LONGEST_HOLD)] | None = None


class OwnBody(_Body):
    """What somebody says of themselves; null takes it back, what is missing stays."""

    locale: Locale | None = None
    time_zone: TimeZone | None = None


class NewToken(BaseModel):
    """A token that was just made. `secret` is shown here and never again."""

    secret: str
    token: reads.Token


class TokenList(BaseModel):
    tokens: tuple[reads.Token, ...]


class MemberList(BaseModel):
    members: tuple[reads.Member, ...]


class Access:
    """The routes of tokens and the caller's own self."""

    def __init__(self, gate: Gate) -> None:
        self.gate = gate

    def routes(self) -> list[Route]:
        return [
            route("GET", "/v1/me", self.me),
            route("PATCH", "/v1/me", self.set_own),
            route("GET", "/v1/tokens", self.tokens),
            route("POST", "/v1/tokens", self.create_token),
            route("DELETE", "/v1/tokens/{id}", self.revoke_token),
            route("GET", "/v1/projects/{id}/members", self.members),
        ]

    @described(reads.Me)
    async def me(self, request: Request) -> Response:
        """The principal, its workspace and its projects."""
        by = await self.gate.principal(request)
        return present(await reads.me(self.gate.pool, by))

    @described(reads.Me, body=OwnBody, caller=Caller.PERSON)
    async def set_own(self, request: Request) -> Response:
        """Say in which language values are shown, and where one is."""
        by = await self.gate.principal(request)
        require_person(by)
        said = await body(request, OwnBody)
        await preferences.set_own(self.gate.pool, by, said.model_dump(exclude_unset=True))
        return present(await reads.me(self.gate.pool, by))

    @described(MemberList)
    async def members(self, request: Request) -> Response:
        """Who sees the project."""
        by = await self.gate.principal(request)
        return present(MemberList(members=await reads.members_of(self.gate.pool, by, path_id(request))))

    @described(TokenList, caller=Caller.PERSON)
    async def tokens(self, request: Request) -> Response:
        """One's own API tokens."""
        by = await self.gate.principal(request)
        require_person(by)
        return present(TokenList(tokens=await reads.tokens_of(self.gate.pool, by)))

    @described({201: NewToken}, body=TokenBody, refuses=(NotFound,), caller=Caller.PERSON)
    async def create_token(self, request: Request) -> Response:
        """Make an API token."""
        by = await self.gate.principal(request)
        said = await body(request, TokenBody)
        secret, token = await verbs.create_token(
            self.gate.pool,
            by,
            name=said.name,
            scopes=said.scopes,
            projects=said.projects,
            expires_at=said.expires_at,
            mcp_hold=said.mcp_hold,
            trace=traceparent(),
        )
        return present(NewToken(secret=secret, token=token), 201)

    @described({204: None}, caller=Caller.PERSON)
    async def revoke_token(self, request: Request) -> Response:
        """Revoke it; owners and admins also those of people whom they manage."""
        by = await self.gate.principal(request)
        await verbs.revoke_token(self.gate.pool, by, path_id(request), trace=traceparent())
        return Response(status_code=204)
