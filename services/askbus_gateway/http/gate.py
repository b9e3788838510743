"""What every HTTP door needs: who is calling, what they sent, and how errors leave."""

import asyncio
import json
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import TypeVar
from urllib.parse import urlsplit
from uuid import UUID, uuid4

import structlog
from pydantic import BaseModel, ConfigDict, JsonValue, TypeAdapter, ValidationError
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response

from askbus.access import reads
from askbus.access.credentials import is_api_token
from askbus.access.model import Principal, PrincipalKind, Sought
from askbus.bus import faults
from askbus.bus.commands import Commands
from askbus.db.outages import is_outage
from askbus.db.pool import Pool
from askbus.errors import (
    AskbusError,
    Internal,
    InvalidInput,
    NotFound,
    PermissionDenied,
    TimedOut,
    TooLarge,
    Unauthenticated,
    Unavailable,
    problems,
)
from askbus.identity.tokens import looks_like_jwt
from askbus.incoming import LARGEST_BODY, NO_NUL, refuse_hostile
from askbus.limits.address import Proxies
from askbus.limits.limiter import Limiter
from askbus_gateway.signin.bearers import Bearers

log = structlog.get_logger()

B = TypeVar("B", bound=BaseModel)
R = TypeVar("R")
Endpoint = Callable[[Request], Awaitable[Response]]

LOOPBACK = frozenset({"localhost", "127.0.0.1", "::1"})
SAFE_METHODS = frozenset({"GET", "HEAD"})


class NoBody(BaseModel):
    """Nothing needs saying."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class Gate:
    """The gateway's own means, shared by its doors."""

    def __init__(
        self,
        pool: Pool,
        commands: Commands,
        public_url: str,
        *,
        limits: Limiter,
        proxies: Proxies,
        bearers: Bearers | None = None,
    ) -> None:
        self.pool = pool
        self.bearers = bearers
        self.commands = commands
        self.limits = limits
        self.proxies = proxies
        self.public_url = public_url.rstrip("/")
        url = urlsplit(public_url)
        self.secure = url.scheme == "https" or url.hostname not in LOOPBACK
        """Whether cookies are Secure: everywhere but on this machine itself (I1)."""
        port = url.port
        self.cookie = f"askbus_session_{port}" if port else "askbus_session"
        """Browsers keep cookies by host and not by port: two instances on one host need two names."""

    async def principal(self, request: Request) -> Principal:
        """Who is calling, with the rights that they have now. Raises Unauthenticated, PermissionDenied for foreign pages, and for an
        issuer's token also what `Bearers.principal` raises."""
        header = request.headers.get("authorization")
        if header is not None:
            scheme, _, token = header.partition(" ")
            if scheme.lower() != "bearer" or not token.strip():
                raise Unauthenticated("Send `Authorization: Bearer <token>`.")
            found = await self._of_bearer(token.strip(), request.headers.get("askbus-workspace"))
        else:
            cookie = request.cookies.get(self.cookie)
            if cookie is None:
                raise Unauthenticated("Sign in, or send `Authorization: Bearer <token>`.")
            refuse_foreign_pages(request)
            found = await reads.principal_of_session(self.pool, cookie)
        if found is None:
            raise Unauthenticated("This session or token is unknown, revoked or expired. Sign in again, or make a new token.")
        return found

    async def _of_bearer(self, token: str, workspace: str | None) -> Principal | None:
        if is_api_token(token) or self.bearers is None or not looks_like_jwt(token):
            return await reads.principal_of_token(self.pool, token)
        return await self.bearers.principal(token, workspace)

    def address(self, request: Request) -> str:
        """Where the request comes from, as limits count it: the socket's address, or what a trusted proxy says."""
        return self.proxies.client(request.client.host if request.client else None, request.headers.raw)

    async def unless_ended(self, sought: Sequence[Sought], found: Sequence[R | AskbusError]) -> list[R | AskbusError]:
        """What was found for each, but Unauthenticated for those whose session or token ended while they waited. Asked after reading
        what they are to be shown, so that nobody sees what happened after their end."""
        standing = await reads.still_standing(self.pool, (by for by, _id in sought))
        return [
            one
            if by.id in standing or isinstance(one, AskbusError)
            else Unauthenticated("This session or token ended while it waited.")
            for (by, _id), one in zip(sought, found, strict=True)
        ]


def refuse_foreign_pages(request: Request) -> None:
    """Cross-site request forgery: a page of another origin may make a browser send its cookie, but cannot set these (I5).

    Raises PermissionDenied where Origin is not this host, or a changing request has neither a JSON body nor the header X-Askbus.
    """
    if request.method in SAFE_METHODS:
        return
    origin = request.headers.get("origin")
    if origin is not None and not is_ours(origin, request.headers.get("host")):
        raise PermissionDenied("Requests from pages of another origin are refused.")
    is_json = request.headers.get("content-type", "").partition(";")[0].strip().lower() == "application/json"
    if not is_json and "x-askbus" not in request.headers:
        raise PermissionDenied("Send the body as application/json, or the header X-Askbus: 1.")


def is_ours(origin: str, host: str | None) -> bool:
    try:
        return bool(host) and urlsplit(origin).netloc == host
    except ValueError:  # no URL, so nobody's page
        return False


async def body(request: Request, model: type[B], *, most: int = LARGEST_BODY) -> B:
    """The request's JSON of at most `most` bytes as `model`. Raises TooLarge, or InvalidInput naming each field that is wrong."""
    data = await read(request, most)
    refuse_hostile(data)
    try:
        return model.model_validate_json(data or b"{}")
    except ValidationError as error:
        raise invalid(error) from None


def query(request: Request, model: type[B]) -> B:
    """The request's query parameters as `model`. Raises InvalidInput naming each that is wrong."""
    if any("\0" in value for value in request.query_params.values()):
        raise InvalidInput(NO_NUL)
    try:
        return model.model_validate_strings(dict(request.query_params))
    except ValidationError as error:
        raise invalid(error) from None


def invalid(error: ValidationError) -> InvalidInput:
    """What is wrong, field by field, without repeating what was sent."""
    found = problems(error)
    listed: list[JsonValue] = [{"field": where, "problem": how} for where, how in found[:50]]
    return InvalidInput("; ".join(f"{where}: {how}" if where else how for where, how in found[:5]), {"errors": listed})


async def read(request: Request, most: int = LARGEST_BODY) -> bytes:
    """The request's body of at most `most` bytes. Raises TooLarge."""
    too_large = TooLarge(f"A request's body has at most {most} bytes.")
    announced = request.headers.get("content-length", "")
    if announced.isdecimal() and int(announced) > most:
        raise too_large
    data = bytearray()
    async for chunk in request.stream():
        data += chunk
        if len(data) > most:
            raise too_large
    return bytes(data)


def path_id(request: Request, name: str = "id") -> UUID:
    """An id from the path. What is no id names nothing, so it raises NotFound."""
    try:
        return UUID(request.path_params[name])
    except ValueError:
        raise NotFound("There is nothing with this id.") from None


def path_name(request: Request, name: str, kind: TypeAdapter[str]) -> str:
    """A name from the path. What cannot be one names nothing, so it raises NotFound."""
    try:
        return kind.validate_python(request.path_params[name])
    except ValidationError:
        raise NotFound("There is nothing of this name.") from None


def command_id(request: Request) -> UUID:
    """The caller's own id for this command, from `Idempotency-Key`, so that it can be sent again safely; else a new one."""
    header = request.headers.get("idempotency-key")
    if header is None:
        return uuid4()
    try:
        return UUID(header)
    except ValueError:
        raise InvalidInput("Idempotency-Key is a UUID.") from None


def present(value: BaseModel, status: int = 200, headers: Mapping[str, str] | None = None) -> Response:
    """A model as a JSON response."""
    return Response(value.model_dump_json(), status, headers, media_type="application/json")


def refusal(error: AskbusError) -> Response:
    """An error as a JSON response: `{code, message, details}`."""
    headers = {}
    if isinstance(error, Unauthenticated):
        headers["WWW-Authenticate"] = "Bearer"
    if (seconds := error.details.get("retry_after")) is not None:
        headers["Retry-After"] = json.dumps(seconds)
    return present(error.body(), error.http_status, headers)


def guarded(endpoint: Endpoint) -> Endpoint:
    """Turns what an endpoint raises into a response; anything that is not ours is logged and told to nobody."""

    async def guard(request: Request) -> Response:
        try:
            return await endpoint(request)
        except Exception as error:  # noqa: BLE001  # the last resort of this door
            return refusal_of(error, request)

    return guard


def refusal_of(error: Exception, request: Request) -> Response:
    """The response to what an endpoint raised: ours as it is, an outage as such, anything else logged and told to nobody. A client
    that goes away before it has sent its whole body is no failure, and hears nothing more."""
    if isinstance(error, AskbusError):
        return refusal(error)
    route = request.scope["route"].path
    if isinstance(error, ClientDisconnect):
        log.info("http.client_left", method=request.method, route=route)
        return refusal(TimedOut("The client went away."))
    if is_outage(error):
        log.warning("http.outage", method=request.method, route=route, error=type(error).__name__)
        return refusal(Unavailable("The database is not reachable right now. Try again."))
    log.error("http.failed", method=request.method, route=route, error=faults.kind(error), frames=faults.stack(error))
    return refusal(Internal.hidden())


async def while_connected(request: Request, work: Awaitable[R]) -> R:
    """The result of long `work`, which is given up when the client goes away. The request's body must have been read."""
    task = asyncio.ensure_future(work)
    left = asyncio.ensure_future(gone(request))
    try:
        await asyncio.wait({task, left}, return_when=asyncio.FIRST_COMPLETED)
        if not task.done():
            raise TimedOut("The client went away.")
        return task.result()
    finally:
        task.cancel()
        left.cancel()


async def gone(request: Request) -> None:
    """Returns when the client goes away. The request's body must have been read."""
    while (await request.receive())["type"] != "http.disconnect":
        pass


def require_person(principal: Principal) -> None:
    """Some things need a person present. Raises PermissionDenied for tokens."""
    if principal.kind is not PrincipalKind.SESSION:
        raise PermissionDenied("This needs a person: sign in. No token can do it.")
