"""/v1/session, /v1/sign-in, /v1/password: the ways in, and the way out."""

from typing import Annotated
from uuid import UUID

import structlog
from pydantic import BaseModel, ConfigDict, Field, SecretStr, StringConstraints
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import Route

from askbus.access import identities, reads, sessions, verbs
from askbus.access.credentials import new_secret
from askbus.errors import NotFound, PermissionDenied, Unauthenticated
from askbus.limits.model import Limited
from askbus.outbound.client import Outbound
from askbus.runtime.settings import Settings
from askbus.runtime.telemetry import traceparent
from askbus_gateway.http.described import Caller, described, route
from askbus_gateway.http.gate import Gate, body, present, refuse_foreign_pages, require_person
from askbus_gateway.signin.accounts import Accounts
from askbus_gateway.signin.arrivals import arrive
from askbus_gateway.signin.hashing import Hashing
from askbus_gateway.signin.paths import local_path
from askbus_gateway.signin.providers import Failure, Providers, Return, SignInFailedError

log = structlog.get_logger()

ATTEMPT_LIFE = 600
"""Seconds in which somebody comes back from an issuer."""

Code = Annotated[str, StringConstraints(min_length=1, max_length=200)]
Password = Annotated[SecretStr, Field(min_length=1, max_length=4000)]


class _Body(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class SignInBody(_Body):
    """The code from the sign-in link's fragment."""

    code: Code


class PasswordBody(_Body):
    """Somebody's e-mail address and their password."""

    email: Annotated[str, StringConstraints(strip_whitespace=True, min_length=3, max_length=320)]
    password: Password


class NewPasswordBody(_Body):
    """A password of 8 to 1,000 characters, and the code of a password link."""

    code: Code
    password: Password


class OwnPasswordBody(_Body):
    """A new password, and the `current` one where there is one."""

    password: Password
    current: Password | None = None


class WorkspaceBody(_Body):
    """Where to go on."""

    workspace_id: UUID


class BeginBody(_Body):
    """Where to go on afterwards: a path of this site."""

    return_to: str = "/"


class OfferedProvider(BaseModel):
    """An issuer where one may sign in: `name` stands in its addresses, `label` on its button."""

    name: str
    label: str


class WaysIn(BaseModel):
    """How one may sign in here, beside links."""

    passwords: bool
    providers: tuple[OfferedProvider, ...]


class Address(BaseModel):
    """Where the browser goes to sign in."""

    url: str


class OwnPassword(BaseModel):
    """Whether one has a password."""

    set: bool


class WorkspaceList(BaseModel):
    workspaces: tuple[reads.Workspace, ...]


class SignIn:
    """The routes of signing in and out."""

    def __init__(self, gate: Gate, settings: Settings, outbound: Outbound) -> None:
        self.gate = gate
        self.hashing = Hashing()
        self.accounts = Accounts(gate.pool, self.hashing, gate.limits, on=settings.passwords)
        self.providers = Providers(settings.sign_in, outbound, settings.public_url)
        self.cookie = ("__Host-" if gate.secure else "") + gate.cookie.replace("session", "sign_in")
        """Holds the secret of a browser that went to an issuer; its name keeps other hosts from planting one (RFC 6265bis, 4.1.3)."""

    async def close(self) -> None:
        """Gives up what is being read from issuers, and takes no more passwords."""
        await self.providers.close()
        self.hashing.close()

    def routes(self) -> list[Route]:
        return [
            route("GET", "/v1/sign-in", self.ways_in),
            route("POST", "/v1/session", self.by_link),
            route("POST", "/v1/session/password", self.by_password),
            route("DELETE", "/v1/session", self.sign_out),
            route("GET", "/v1/session/workspaces", self.workspaces),
            route("POST", "/v1/session/workspace", self.switch),
            route("POST", "/v1/password", self.set_password),
            route("GET", "/v1/me/password", self.own_password),
            route("PUT", "/v1/me/password", self.change_password),
            route("POST", "/v1/sign-in/{provider}", self.begin),
            route("GET", "/v1/sign-in/{provider}/callback", self.come_back),
        ]

    @described(WaysIn, caller=Caller.ANYBODY)
    async def ways_in(self, _request: Request) -> Response:
        """How one may sign in here, beside links."""
        offered = (OfferedProvider(name=name, label=one.label) for name, one in self.providers.configured.items())
        return present(WaysIn(passwords=self.accounts.on, providers=tuple(offered)))

    @described({201: reads.Me}, body=SignInBody, refuses=(PermissionDenied, Unauthenticated), caller=Caller.ANYBODY, limited=True)
    async def by_link(self, request: Request) -> Response:
        """Sign in with the `code` of the link."""
        await self._attempt(request)
        said = await body(request, SignInBody)
        return await self._signed_in(await verbs.sign_in(self.gate.pool, said.code, trace=traceparent()))

    @described(
        {201: reads.Me}, body=PasswordBody, refuses=(PermissionDenied, Unauthenticated), caller=Caller.ANYBODY, limited=True
    )
    async def by_password(self, request: Request) -> Response:
        """Sign in with `email` and `password`, in the workspace where one was last."""
        await self._attempt(request)
        said = await body(request, PasswordBody)
        return await self._signed_in(await self.accounts.sign_in(said.email, said.password.get_secret_value()))

    @described({204: None}, caller=Caller.PERSON)
    async def sign_out(self, request: Request) -> Response:
        """Sign out; an issuer's token is worth nothing any more."""
        by = await self.gate.principal(request)
        require_person(by)
        await verbs.end_session(self.gate.pool, by, trace=traceparent())
        response = Response(status_code=204)
        response.delete_cookie(self.gate.cookie, httponly=True, secure=self.gate.secure, samesite="lax")
        return response

    @described(WorkspaceList, caller=Caller.PERSON)
    async def workspaces(self, request: Request) -> Response:
        """The workspaces that one is a member of."""
        by = await self.gate.principal(request)
        require_person(by)
        return present(WorkspaceList(workspaces=await reads.workspaces_of(self.gate.pool, by.user_id)))

    @described({201: reads.Me}, body=WorkspaceBody, refuses=(NotFound,), caller=Caller.PERSON)
    async def switch(self, request: Request) -> Response:
        """Go on in another workspace, in a new session; this one ends."""
        by = await self.gate.principal(request)
        require_person(by)
        said = await body(request, WorkspaceBody)
        return await self._signed_in(await sessions.switch_workspace(self.gate.pool, by, said.workspace_id, trace=traceparent()))

    @described(
        {201: reads.Me}, body=NewPasswordBody, refuses=(PermissionDenied, Unauthenticated), caller=Caller.ANYBODY, limited=True
    )
    async def set_password(self, request: Request) -> Response:
        """Set a `password` with the `code` of a password link, and sign in; one's other sessions end."""
        await self._attempt(request)
        said = await body(request, NewPasswordBody)
        return await self._signed_in(await self.accounts.set_by_code(said.code, said.password.get_secret_value()))

    @described(OwnPassword, caller=Caller.PERSON)
    async def own_password(self, request: Request) -> Response:
        """Whether one has a password."""
        by = await self.gate.principal(request)
        require_person(by)
        return present(OwnPassword(set=await self.accounts.has_password(by)))

    @described({204: None}, body=OwnPasswordBody, caller=Caller.PERSON, limited=True)
    async def change_password(self, request: Request) -> Response:
        """Change one's password, or set the first one within 15 minutes of signing in by a link; one's other sessions end."""
        by = await self.gate.principal(request)
        require_person(by)
        said = await body(request, OwnPasswordBody)
        current = None if said.current is None else said.current.get_secret_value()
        await self.accounts.change(by, said.password.get_secret_value(), current)
        return Response(status_code=204)

    @described(
        Address, body=BeginBody, params={"provider": str}, refuses=(PermissionDenied,), caller=Caller.ANYBODY, limited=True
    )
    async def begin(self, request: Request) -> Response:
        """Begin to sign in at an issuer: the browser goes to `url` and comes back to `return_to`."""
        await self._attempt(request)
        name = request.path_params["provider"]
        self.providers.known(name)
        return_to = local_path((await body(request, BeginBody)).return_to)
        state, browser = new_secret(), request.cookies.get(self.cookie) or new_secret()
        url = await self.providers.address(name, state=state, browser=browser)
        await identities.begin_sign_in(self.gate.pool, state=state, browser=browser, provider=name, return_to=return_to)
        response = present(Address(url=url))
        guarded = {"httponly": True, "secure": self.gate.secure, "samesite": "lax"}
        response.set_cookie(self.cookie, browser, max_age=ATTEMPT_LIFE, **guarded)  # type: ignore[arg-type]  # as they stand
        return response

    @described({303: None}, params={"provider": str}, caller=Caller.ANYBODY)
    async def come_back(self, request: Request) -> Response:
        """Where an issuer sends the browser back to: it is signed in, or shown why not."""
        name = request.path_params["provider"]
        self.providers.known(name)
        try:
            return await self._came_back(request, name)
        except SignInFailedError as error:
            log.warning("sign_in.failed", provider=name, failure=error.failure, reason=error.reason)
            return RedirectResponse(f"/#sign-in-failed={error.failure}", 303, {"cache-control": "no-store"})

    async def _came_back(self, request: Request, name: str) -> Response:
        said = request.query_params
        back = Return(said.get("code"), said.get("state", ""), said.get("iss"), request.cookies.get(self.cookie, ""))
        try:
            return_to = await identities.take_sign_in(self.gate.pool, state=back.state, browser=back.browser, provider=name)
        except Unauthenticated:
            raise SignInFailedError(Failure.STALE, "unknown_state") from None
        if "error" in said:
            raise SignInFailedError(Failure.DENIED, "issuer_said_no")
        session = await arrive(self.gate.pool, await self.providers.identity(name, back))
        response = RedirectResponse(return_to, 303, {"cache-control": "no-store"})
        self._keep(response, session)
        return response

    async def _attempt(self, request: Request) -> None:
        """Before anything is looked up or hashed. Raises PermissionDenied for foreign pages, RateLimited."""
        refuse_foreign_pages(request)
        await self.gate.limits.take(Limited.SIGN_IN_ADDRESS, self.gate.address(request))

    async def _signed_in(self, session: verbs.NewSession) -> Response:
        by = await reads.principal_of_session(self.gate.pool, session.cookie)
        if by is None:
            raise PermissionDenied("You are no longer a member of this workspace.")
        response = present(await reads.me(self.gate.pool, by), 201)
        self._keep(response, session)
        return response

    def _keep(self, response: Response, session: verbs.NewSession) -> None:
        response.set_cookie(
            self.gate.cookie,
            session.cookie,
            max_age=verbs.SESSION_LIFE,
            httponly=True,
            secure=self.gate.secure,
            samesite="lax",
        )
