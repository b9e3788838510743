"""/v1/invitations: people are let in by a link. Sent by owners and admins, with a session; opened by whoever has it."""

from typing import Annotated
from uuid import UUID

from pydantic import BaseModel, ConfigDict, StringConstraints
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from askbus.access import invitations, joining, reads, verbs
from askbus.access.addresses import SHOWN
from askbus.access.managing import require_admin
from askbus.db.ids import new_id
from askbus.errors import Conflict, InvalidInput, PermissionDenied, Unauthenticated
from askbus.limits.model import Limited
from askbus.runtime.telemetry import traceparent
from askbus_gateway.http.described import Caller, described, route
from askbus_gateway.http.gate import Gate, body, command_id, path_id, present, query, refuse_foreign_pages

Code = Annotated[str, StringConstraints(min_length=1, max_length=200)]


class _Body(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class RenewBody(_Body):
    """For how many seconds the new link works."""

    expires_in: invitations.Seconds = invitations.LIFE


class CodeBody(_Body):
    """The code from the link's fragment."""

    code: Code


class AcceptBody(CodeBody):
    """And what one is called: somebody new says so, who is known already keeps their name."""

    name: Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=200, pattern=SHOWN)] | None = None


class Sent(BaseModel):
    """An invitation with its link, which is shown here and never again."""

    invitation: invitations.Invitation
    link: str


class Invitations:
    """The routes of invitations."""

    def __init__(self, gate: Gate) -> None:
        self.gate = gate

    def routes(self) -> list[Route]:
        return [
            route("GET", "/v1/invitations", self.list),
            route("POST", "/v1/invitations", self.invite),
            route("POST", "/v1/invitations/look-at", self.look_at),
            route("POST", "/v1/invitations/accept", self.accept),
            route("POST", "/v1/invitations/{id}/renew", self.renew),
            route("DELETE", "/v1/invitations/{id}", self.revoke),
        ]

    @described(invitations.InvitationPage, query=invitations.InvitationFilter, caller=Caller.PERSON)
    async def list(self, request: Request) -> Response:
        """A page of the workspace's invitations, the newest first."""
        by = await self.gate.principal(request)
        require_admin(by)
        return present(await invitations.page(self.gate.pool, by, query(request, invitations.InvitationFilter)))

    @described({201: Sent}, body=invitations.InvitationForm, caller=Caller.PERSON, idempotent=True)
    async def invite(self, request: Request) -> Response:
        """Invite an address; the link is in this answer alone. Sent again with the same key, there is another link and the first ends."""
        by = await self.gate.principal(request)
        require_admin(by)
        form = await body(request, invitations.InvitationForm)
        key: UUID = command_id(request) if "idempotency-key" in request.headers else new_id()
        made, code = await invitations.invite(self.gate.pool, by, key, form, trace=traceparent())
        return self._sent(made, code, 201)

    @described(Sent, body=RenewBody, refuses=(Conflict,), caller=Caller.PERSON)
    async def renew(self, request: Request) -> Response:
        """Send it again: another link, and the old one ends."""
        by = await self.gate.principal(request)
        require_admin(by)
        said = await body(request, RenewBody)
        made, code = await invitations.renew(self.gate.pool, by, path_id(request), said.expires_in, trace=traceparent())
        return self._sent(made, code, 200)

    def _sent(self, made: invitations.Invitation, code: str, status: int) -> Response:
        # The code stands in the fragment: browsers send that to nobody.
        return present(Sent(invitation=made, link=f"{self.gate.public_url}/#invitation={code}"), status)

    @described({204: None}, refuses=(Conflict,), caller=Caller.PERSON)
    async def revoke(self, request: Request) -> Response:
        """Take it back."""
        by = await self.gate.principal(request)
        require_admin(by)
        await invitations.revoke(self.gate.pool, by, path_id(request), trace=traceparent())
        return Response(status_code=204)

    async def _attempt(self, request: Request) -> None:
        """A code is tried, as in signing in. Raises PermissionDenied for foreign pages, RateLimited."""
        refuse_foreign_pages(request)
        await self.gate.limits.take(Limited.SIGN_IN_ADDRESS, self.gate.address(request))

    @described(joining.Shown, body=CodeBody, refuses=(Unauthenticated,), caller=Caller.ANYBODY, limited=True)
    async def look_at(self, request: Request) -> Response:
        """What the link of this `code` is for; it is not used up."""
        await self._attempt(request)
        said = await body(request, CodeBody)
        return present(await joining.look_at(self.gate.pool, said.code))

    @described(
        {201: reads.Me},
        body=AcceptBody,
        refuses=(PermissionDenied, Unauthenticated, Conflict, InvalidInput),
        caller=Caller.ANYBODY,
        limited=True,
    )
    async def accept(self, request: Request) -> Response:
        """Join with the `code` of the link, and be signed in. Who is a member elsewhere sends their cookie along."""
        await self._attempt(request)
        said = await body(request, AcceptBody)
        cookie = request.cookies.get(self.gate.cookie)
        here = None if cookie is None else await reads.principal_of_session(self.gate.pool, cookie)
        async with self.gate.pool.acquire() as db, db.transaction():
            session = await joining.accept(
                db, said.code, name=said.name, signed_in=None if here is None else here.user_id, trace=traceparent()
            )
        by = await reads.principal_of_session(self.gate.pool, session.cookie)
        if by is None:
            raise PermissionDenied("You are no longer a member of this workspace.")
        response = present(await reads.me(self.gate.pool, by), 201)
        response.set_cookie(
            self.gate.cookie, session.cookie, max_age=verbs.SESSION_LIFE, httponly=True, secure=self.gate.secure, samesite="lax"
        )
        return response
