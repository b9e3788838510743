"""What every HTTP door needs: who is calling, what they sent, and how errors leave."""

import json
import re
from collections.abc import Awaitable, Callable, Mapping
from typing import TypeVar
from urllib.parse import urlsplit
from uuid import UUID, uuid4

import structlog
from pydantic import BaseModel, JsonValue, ValidationError
from starlette.requests import Request
from starlette.responses import Response

from askbus.access import reads
from askbus.access.model import Principal, PrincipalKind
from askbus.bus.commands import Commands
from askbus.db.pool import Pool
from askbus.errors import AskbusError, Internal, InvalidInput, NotFound, PermissionDenied, TooLarge, Unauthenticated

log = structlog.get_logger()

B = TypeVar("B", bound=BaseModel)
Endpoint = Callable[[Request], Awaitable[Response]]

LARGEST_BODY = 1 << 20
"""Bytes of one request's body."""
DEEPEST_JSON = 32
"""Levels of nesting in a request's JSON."""

SAFE_METHODS = frozenset({"GET", "HEAD"})


class Gate:
    """The gateway's own means, shared by its doors."""

    def __init__(self, pool: Pool, commands: Commands, public_url: str) -> None:
        self.pool = pool
        self.commands = commands
        self.public_url = public_url.rstrip("/")
        self.secure = urlsplit(public_url).scheme == "https"
        port = urlsplit(public_url).port
        self.cookie = f"askbus_session_{port}" if port else "askbus_session"
        """Browsers keep cookies by host and not by port: two instances on one host need two names."""

    async def principal(self, request: Request) -> Principal:
        """Who is calling, with the rights that they have now. Raises Unauthenticated; PermissionDenied for a foreign page's request."""
        header = request.headers.get("authorization")
        if header is not None:
            scheme, _, token = header.partition(" ")
            if scheme.lower() != "bearer" or not token.strip():
                raise Unauthenticated("Send `Authorization: Bearer <token>`.")
            found = await reads.principal_of_token(self.pool, token.strip())
        else:
            cookie = request.cookies.get(self.cookie)
            if cookie is None:
                raise Unauthenticated("Sign in, or send `Authorization: Bearer <token>`.")
            refuse_foreign_pages(request)
            found = await reads.principal_of_session(self.pool, cookie)
        if found is None:
            raise Unauthenticated("This session or token is unknown, revoked or expired. Sign in again, or make a new token.")
        return found


def refuse_foreign_pages(request: Request) -> None:
    """Cross-site request forgery: a page of another origin may make a browser send its cookie, but cannot set these (I5).

    Raises PermissionDenied where Origin is not this host, or where a changing request has neither a JSON body nor the header X-Askbus.
    """
    if request.method in SAFE_METHODS:
        return
    origin = request.headers.get("origin")
    if origin is not None and urlsplit(origin).netloc != request.headers.get("host"):
        raise PermissionDenied("Requests from pages of another origin are refused.")
    is_json = request.headers.get("content-type", "").partition(";")[0].strip().lower() == "application/json"
    if not is_json and "x-askbus" not in request.headers:
        raise PermissionDenied("Send the body as application/json, or the header X-Askbus: 1.")


async def body(request: Request, model: type[B]) -> B:
    """The request's JSON as `model`. Raises TooLarge, or InvalidInput naming each field that is wrong."""
    data = bytearray()
    async for chunk in request.stream():
        data += chunk
        if len(data) > LARGEST_BODY:
            raise TooLarge(f"A request's body has at most {LARGEST_BODY} bytes.")
    _refuse_depth(data)
    try:
        return model.model_validate_json(bytes(data) or b"{}")
    except ValidationError as error:
        raise invalid(error) from None


def query(request: Request, model: type[B]) -> B:
    """The request's query parameters as `model`. Raises InvalidInput naming each that is wrong."""
    try:
        return model.model_validate_strings(dict(request.query_params))
    except ValidationError as error:
        raise invalid(error) from None


def invalid(error: ValidationError) -> InvalidInput:
    """What is wrong, field by field, without repeating what was sent."""
    problems: list[JsonValue] = []
    words = []
    for problem in error.errors(include_url=False, include_context=False, include_input=False):
        where = ".".join(str(part) for part in problem["loc"])
        problems.append({"field": where, "problem": problem["msg"]})
        words.append(f"{where}: {problem['msg']}" if where else problem["msg"])
    return InvalidInput("; ".join(words[:5]), {"errors": problems[:50]})


_TEXTS = re.compile(rb'"(?:[^"\\]|\\.)*"', re.DOTALL)


def _refuse_depth(data: bytes | bytearray) -> None:
    """Before parsing: a parser that recurses would be the wrong place to find out."""
    if data.count(b"[") + data.count(b"{") <= DEEPEST_JSON:
        return
    depth = 0
    for sign in re.findall(rb"[\[{\]}]", _TEXTS.sub(b"", data)):
        depth += 1 if sign in b"[{" else -1
        if depth > DEEPEST_JSON:
            raise InvalidInput(f"JSON may be nested {DEEPEST_JSON} levels deep.")


def path_id(request: Request, name: str = "id") -> UUID:
    """An id from the path. What is no id names nothing, so it raises NotFound."""
    try:
        return UUID(request.path_params[name])
    except ValueError:
        raise NotFound("There is nothing with this id.") from None


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
        except AskbusError as error:
            return refusal(error)
        except Exception as error:  # noqa: BLE001  # the last resort of this door
            log.error("http.failed", method=request.method, route=request.scope["route"].path, exc_info=error)
            return refusal(Internal.hidden())

    return guard


def require_person(principal: Principal) -> None:
    """Some things need a person present. Raises PermissionDenied for tokens."""
    if principal.kind is not PrincipalKind.SESSION:
        raise PermissionDenied("This needs a person: sign in. No token can do it.")
