"""Every address that OAuth speaks of, from ASKBUS_PUBLIC_URL alone: never from what a request says of its host."""

from urllib.parse import urlsplit

from askbus_gateway.http.gate import LOOPBACK

RESOURCE_METADATA = "/.well-known/oauth-protected-resource"
SERVER_METADATA = "/.well-known/oauth-authorization-server"
AUTHORIZE, TOKEN, REGISTER, REVOKE, CONSENT = (
    "/oauth/authorize",
    "/oauth/token",
    "/oauth/register",
    "/oauth/revoke",
    "/oauth/consent",
)

NEEDS_HTTPS = "OAuth is served over https alone, outside this machine: set ASKBUS_PUBLIC_URL to an address with https://."


class Addresses:
    """The issuer, the one resource, and where each is described. No slash is added anywhere."""

    def __init__(self, public_url: str) -> None:
        self.issuer = public_url.rstrip("/")
        url = urlsplit(self.issuer)
        self.resource = f"{self.issuer}/mcp"
        self.served = url.scheme == "https" or url.hostname in LOOPBACK
        """Whether OAuth is served at all (M3)."""
        self._path = url.path
        self._origin = f"{url.scheme}://{url.netloc}"

    @property
    def resource_metadata(self) -> str:
        """What a challenge points at (RFC 9728, section 3.1: the path comes after the well-known one)."""
        return f"{self._origin}{RESOURCE_METADATA}{self._path}/mcp"

    @property
    def resource_metadata_paths(self) -> tuple[str, ...]:
        """Inserted, and at the root for clients that know no other place."""
        return tuple(dict.fromkeys((f"{RESOURCE_METADATA}{self._path}/mcp", f"{RESOURCE_METADATA}/mcp", RESOURCE_METADATA)))

    @property
    def server_metadata_paths(self) -> tuple[str, ...]:
        """At the issuer's place (RFC 8414, section 3.1), and at the resource's for clients that take it for the issuer."""
        paths = (
            f"{SERVER_METADATA}{self._path}",
            SERVER_METADATA,
            f"{SERVER_METADATA}{self._path}/mcp",
            f"{SERVER_METADATA}/mcp",
        )
        return tuple(dict.fromkeys(paths))

    def at(self, path: str) -> str:
        return self.issuer + path
