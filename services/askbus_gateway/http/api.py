"""The HTTP application: every route, and the span around each request."""

from collections.abc import MutableMapping, Sequence
from typing import Any

from opentelemetry.trace import SpanKind
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Match, Route

from askbus.errors import AskbusError, Internal, InvalidInput, NotFound
from askbus.runtime.health import Asgi, Receive, Send
from askbus.runtime.telemetry import span
from askbus_gateway.http.caps import held, route_of
from askbus_gateway.http.gate import refusal

_USUAL = [
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"no-referrer"),
    (b"cross-origin-opener-policy", b"same-origin"),
    (b"cache-control", b"no-store"),
]
"""What every answer says that does not say otherwise."""


def make_api(routes: Sequence[BaseRoute]) -> Asgi:
    """The application over `routes`. Unknown paths and methods answer like every other error."""

    async def not_found(_request: Request, _error: Exception) -> Response:
        return refusal(NotFound("There is nothing at this address. See the API's documentation."))

    async def wrong_method(request: Request, _error: Exception) -> Response:
        response = refusal(InvalidInput("This address does not take this method."))
        response.status_code = 405
        response.headers["Allow"] = ", ".join(_methods(request.scope, routes))  # RFC 9110, section 15.5.6
        return response

    async def refused(_request: Request, error: Exception) -> Response:
        return refusal(error) if isinstance(error, AskbusError) else refusal(Internal.hidden())

    handlers = {404: not_found, 405: wrong_method, AskbusError: refused}
    app = Starlette(routes=list(routes), exception_handlers=handlers)
    app.router.redirect_slashes = False  # it would lead to whatever address the Host names, and not by https behind a proxy
    return _traced(app, routes)


def _traced(app: Any, routes: Sequence[BaseRoute]) -> Asgi:
    async def traced(scope: dict[str, Any], receive: Receive, send: Send) -> None:
        headers = dict(scope["headers"])
        parent = headers.get(b"traceparent", b"").decode("latin-1") or None
        route = route_of(scope, routes)
        name = f"{scope['method']} {getattr(route, 'path', 'unmatched')}"
        with span(name, kind=SpanKind.SERVER, parent=parent) as current:

            async def send_traced(message: dict[str, Any]) -> None:
                if message["type"] == "http.response.start":
                    current.set_attribute("http.response.status_code", message["status"])
                    context = current.get_span_context()
                    extra = [(b"askbus-trace-id", f"{context.trace_id:032x}".encode())] if context.is_valid else []
                    said = {name.lower() for name, _value in message["headers"]}
                    usual = [header for header in _USUAL if header[0] not in said]
                    message = {**message, "headers": [*message["headers"], *usual, *extra]}
                await send(message)

            try:
                receive = held(scope, receive, route)
            except AskbusError as error:
                await refusal(error)(scope, receive, send_traced)  # type: ignore[arg-type]  # Starlette's types are wider than ours
                return
            await app(scope, receive, send_traced)

    return traced


def _methods(scope: MutableMapping[str, Any], routes: Sequence[BaseRoute]) -> list[str]:
    """Those that are taken at the address of this request: each has a route of its own."""
    here = [route for route in routes if isinstance(route, Route) and route.matches(scope)[0] is not Match.NONE]
    return sorted({method for route in here for method in route.methods or ()})
