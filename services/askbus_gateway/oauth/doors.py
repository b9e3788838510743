"""What the doors for apps share: forms, answers as OAuth has them, and that any page may call them, since none of them reads a cookie."""

from collections.abc import Mapping
from urllib.parse import parse_qsl

import structlog
from pydantic_core import to_json
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response

from askbus.bus import faults
from askbus.db.outages import is_outage
from askbus.errors import AskbusError, RateLimited
from askbus_gateway.http.gate import Endpoint
from askbus_gateway.oauth.addresses import NEEDS_HTTPS, Addresses

log = structlog.get_logger()

FORM = "application/x-www-form-urlencoded"
LARGEST_FORM = 32_768
MOST_FIELDS = 50

CORS = {"Access-Control-Allow-Origin": "*", "Access-Control-Expose-Headers": "WWW-Authenticate, Retry-After"}
PREFLIGHT = {
    **CORS,
    "Access-Control-Allow-Methods": "GET, POST",
    "Access-Control-Allow-Headers": "authorization, content-type, accept, mcp-protocol-version",
    "Access-Control-Max-Age": "86400",
}
NO_STORE = {"Cache-Control": "no-store"}


class OAuthError(Exception):
    """A refusal in OAuth's own words: `error` is a code of RFC 6749, section 5.2, or of an extension."""

    def __init__(self, error: str, why: str, status: int = 400, headers: Mapping[str, str] | None = None) -> None:
        super().__init__(why)
        self.error = error
        self.why = why
        self.status = status
        self.headers = dict(headers or {})


def answer(said: Mapping[str, object], status: int = 200, headers: Mapping[str, str] | None = None) -> Response:
    """A JSON answer, which nobody keeps unless `headers` says so."""
    return Response(to_json(said), status, {**NO_STORE, **(headers or {})}, media_type="application/json")


def refused(error: OAuthError) -> Response:
    return answer({"error": error.error, "error_description": error.why}, error.status, error.headers)


def open_door(addresses: Addresses, endpoint: Endpoint) -> Endpoint:
    """An endpoint that pages of every origin may call, preflights included; whatever it raises leaves as OAuth has it."""

    async def opened(request: Request) -> Response:
        if request.method == "OPTIONS":
            return Response(status_code=204, headers=PREFLIGHT)
        if addresses.served:
            try:
                response = await endpoint(request)
            except Exception as error:  # noqa: BLE001  # the last resort of this door
                response = refused(_told(error, request))
        else:
            response = refused(OAuthError("temporarily_unavailable", NEEDS_HTTPS, 503))
        response.headers.update(CORS)
        return response

    return opened


def _told(error: Exception, request: Request) -> OAuthError:
    if isinstance(error, OAuthError):
        return error
    route = request.scope["route"].path
    if isinstance(error, RateLimited):
        seconds = str(error.details.get("retry_after", 1))
        return OAuthError("temporarily_unavailable", error.message, 429, {"Retry-After": seconds})
    if isinstance(error, AskbusError):
        return OAuthError("invalid_request", error.message, error.http_status)
    if isinstance(error, ClientDisconnect):
        log.info("http.client_left", method=request.method, route=route)
        return OAuthError("invalid_request", "The client went away.")
    if is_outage(error):
        log.warning("http.outage", method=request.method, route=route, error=type(error).__name__)
        return OAuthError("temporarily_unavailable", "The database is not reachable right now. Try again.", 503)
    log.error("http.failed", method=request.method, route=route, error=faults.kind(error), frames=faults.stack(error))
    return OAuthError("server_error", "Something went wrong on our side. It has been logged; try again.", 500)


async def form(request: Request) -> dict[str, str]:
    """The parameters of a request to the token endpoint and its kin: in a form alone, and each once (RFC 6749, section 3.2). Those without
    a value count as left out. Raises OAuthError."""
    if request.headers.get("content-type", "").partition(";")[0].strip().lower() != FORM:
        raise OAuthError("invalid_request", f"Send the parameters as {FORM}.")
    if request.url.query:
        raise OAuthError("invalid_request", "Send the parameters in the body: addresses end in logs.")
    return once(await posted(request, MOST_FIELDS))


async def posted(request: Request, most: int) -> list[tuple[str, str]]:
    """The fields of a form, `most` of them, in their order. Raises OAuthError for one that is too large, or no text."""
    data = bytearray()
    async for chunk in request.stream():
        data += chunk
        if len(data) > LARGEST_FORM:
            raise OAuthError("invalid_request", f"A form has at most {LARGEST_FORM} bytes.", 413)
    return fields(bytes(data), most)


def fields(query: str | bytes, most: int = MOST_FIELDS) -> list[tuple[str, str]]:
    """The parameters of a form or a query, in their order. Raises OAuthError for what is no text."""
    try:
        text = query if isinstance(query, str) else query.decode("ascii")
        found = parse_qsl(text, keep_blank_values=True, errors="strict", max_num_fields=most)
    except ValueError:
        raise OAuthError("invalid_request", f"Send at most {most} parameters, percent-encoded as UTF-8.") from None
    if any("\0" in name or "\0" in value for name, value in found):
        raise OAuthError("invalid_request", "No parameter may contain the character U+0000.")
    return found


def once(found: list[tuple[str, str]]) -> dict[str, str]:
    """Parameters by name. Raises OAuthError where one is there twice: who reads the first would mean another than who reads the last."""
    said = dict(found)
    if len(said) != len(found):
        raise OAuthError("invalid_request", "A parameter was sent more than once.")
    return {name: value for name, value in said.items() if value}
