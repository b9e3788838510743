"""The web console: static files of this package at `/` and `/console/`, under a policy that runs no script but these."""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from importlib import resources

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from askbus.errors import NotFound
from askbus_gateway.http.gate import guarded

POLICY = "; ".join(
    (
        "default-src 'none'",
        "script-src 'self'",
        "style-src 'self'",
        "connect-src 'self'",
        "img-src 'self' data:",
        "base-uri 'none'",
        "frame-ancestors 'none'",
        "form-action 'self'",
        "require-trusted-types-for 'script'",
        "trusted-types askbus-feed",
    )
)
"""Content-Security-Policy Level 3. The last two make the browser refuse innerHTML and its kin: the console never uses them. The one
policy that there is names the script of the feed's worker (feed.js)."""

TYPES: Mapping[str, str] = {
    "html": "text/html; charset=utf-8",
    "js": "text/javascript; charset=utf-8",
    "css": "text/css; charset=utf-8",
    "json": "application/json",
    "svg": "image/svg+xml",
}


@dataclass(frozen=True)
class Asset:
    """A file as it is sent. `etag` is a strong validator (RFC 9110, section 8.8.3) made from the content."""

    content: bytes
    media_type: str
    etag: str


class Console:
    """The routes of the console. Its files are read once, when it is made."""

    def __init__(self) -> None:
        folder = resources.files(__name__).joinpath("static")
        self.assets = {entry.name: _asset(entry.name, entry.read_bytes()) for entry in folder.iterdir() if entry.is_file()}

    def routes(self) -> list[Route]:
        return [
            Route("/", guarded(self.page), methods=["GET"]),
            Route("/console/{name}", guarded(self.file), methods=["GET"]),
        ]

    async def page(self, request: Request) -> Response:
        return _send(request, self.assets["index.html"])

    async def file(self, request: Request) -> Response:
        asset = self.assets.get(request.path_params["name"])
        if asset is None:
            raise NotFound("The console has no such file.")
        return _send(request, asset)


def _asset(name: str, content: bytes) -> Asset:
    return Asset(content, TYPES[name.rpartition(".")[2]], f'"{hashlib.sha256(content).hexdigest()[:32]}"')


def _send(request: Request, asset: Asset) -> Response:
    """The file, or 304 to whoever has it: names stay the same over versions, so browsers ask each time."""
    headers = {"etag": asset.etag, "cache-control": "no-cache", "content-security-policy": POLICY}
    known = {tag.strip().removeprefix("W/") for tag in request.headers.get("if-none-match", "").split(",")}
    if asset.etag in known or "*" in known:
        return Response(status_code=304, headers=headers)
    return Response(asset.content, headers=headers, media_type=asset.media_type)
