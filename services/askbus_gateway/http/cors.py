"""Pages of other origins that the operator listed may call the API with a token (the Fetch standard's CORS protocol).

They are never let in with a cookie: no answer says `Access-Control-Allow-Credentials`, so that a browser neither sends a session's cookie
after a preflight nor shows what was answered to one, and a changing request with a cookie must come from our own page all the same.
"""

from collections.abc import Collection
from typing import Any

from starlette.responses import Response

from askbus.runtime.health import Asgi, Receive, Send

API = "/v1/"
"""The paths that it is about. What else there is, is for our own pages, or has rules of its own."""

METHODS = "GET, POST, PUT, PATCH, DELETE"
HEADERS = (
    "Authorization, Content-Type, Idempotency-Key, Last-Event-ID, If-None-Match, X-Askbus, Askbus-Frontend, "
    "Askbus-Workspace, Traceparent"
)
EXPOSED = b"Askbus-Trace-Id, Retry-After, WWW-Authenticate, ETag, Content-Disposition, X-Vercel-AI-UI-Message-Stream"
REMEMBERED = 600
"""Seconds for which a browser need not ask again."""
VARIES = "Origin, Access-Control-Request-Method, Access-Control-Request-Headers"


def across_origins(app: Asgi, origins: Collection[str]) -> Asgi:
    """`app`, callable by pages of `origins`; as it is where there are none."""
    if not origins:
        return app
    listed = frozenset(origin.encode() for origin in origins)

    async def answer(scope: dict[str, Any], receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or not scope["path"].startswith(API):
            await app(scope, receive, send)
            return
        said = [value for name, value in scope["headers"] if name == b"origin"]
        origin = said[0] if len(said) == 1 and said[0] in listed else None
        if origin is not None and scope["method"] == "OPTIONS" and _has(scope, b"access-control-request-method"):
            await _leave(origin)(scope, receive, send)  # type: ignore[arg-type]  # Starlette's types are wider than ours
            return

        async def send_marked(message: dict[str, Any]) -> None:
            if message["type"] == "http.response.start":
                marks = [(b"vary", b"Origin")]
                if origin is not None:
                    marks += [(b"access-control-allow-origin", origin), (b"access-control-expose-headers", EXPOSED)]
                message = {**message, "headers": [*message["headers"], *marks]}
            await send(message)

        await app(scope, receive, send_marked)

    return answer


def _leave(origin: bytes) -> Response:
    """The answer to a preflight."""
    return Response(
        status_code=204,
        headers={
            "access-control-allow-origin": origin.decode(),
            "access-control-allow-methods": METHODS,
            "access-control-allow-headers": HEADERS,
            "access-control-max-age": str(REMEMBERED),
            "vary": VARIES,
        },
    )


def _has(scope: dict[str, Any], wanted: bytes) -> bool:
    return any(name == wanted for name, _value in scope["headers"])
