"""/oauth/token and /oauth/revoke: an app fetches what a person allowed, keeps it fresh, and gives it back."""

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from askbus.access.model import Scope
from askbus.oauth import verbs
from askbus.oauth.model import ACCESS_LIFE, GRANTABLE, Client, Issued, Verdict, challenge_of
from askbus.runtime.telemetry import traceparent
from askbus_gateway.oauth.addresses import REVOKE, TOKEN, Addresses
from askbus_gateway.oauth.clients import Clients
from askbus_gateway.oauth.doors import OAuthError, answer, form, open_door

OVER = "This code or token is unknown, used up, too old, or was given to another app. The person has to connect the app again."
REFUSALS = {
    Verdict.OTHER_RESOURCE: ("invalid_target", "This was given for another resource.", 400),
    Verdict.WIDER: ("invalid_scope", "The person did not allow all of this. More needs a new consent.", 400),
    Verdict.OFF: ("temporarily_unavailable", "MCP is switched off in this workspace. Its admins can switch it on.", 503),
}
"""All others are `invalid_grant`, with one text: which it was is nobody's business but the log's."""


class Tokens:
    """The routes of codes and tokens."""

    def __init__(self, addresses: Addresses, clients: Clients) -> None:
        self.addresses = addresses
        self.clients = clients

    def routes(self) -> list[Route]:
        return [
            Route(TOKEN, open_door(self.addresses, self.token), methods=["POST", "OPTIONS"]),
            Route(REVOKE, open_door(self.addresses, self.revoke), methods=["POST", "OPTIONS"]),
        ]

    async def token(self, request: Request) -> Response:
        said = await form(request)
        grant_type = said.get("grant_type")
        if grant_type not in {"authorization_code", "refresh_token"}:
            kind = "invalid_request" if grant_type is None else "unsupported_grant_type"
            raise OAuthError(kind, "grant_type is authorization_code or refresh_token.")
        client = await self.clients.authenticated(request.headers.get("authorization"), said)
        redeemed = grant_type == "authorization_code"
        issued = await self._redeem(client, said) if redeemed else await self._refresh(client, said)
        if issued.access_token is None:
            raise OAuthError(*REFUSALS.get(issued.verdict, ("invalid_grant", OVER, 400)))
        told: dict[str, object] = {
            "access_token": issued.access_token,
            "token_type": "Bearer",
            "expires_in": ACCESS_LIFE,
            "scope": " ".join(scope.value for scope in issued.scopes),
        }
        return answer(told if issued.refresh_token is None else {**told, "refresh_token": issued.refresh_token})

    async def _redeem(self, client: Client, said: dict[str, str]) -> Issued:
        return await verbs.redeem(
            self.clients.pool,
            client,
            _needed(said, "code"),
            challenge=challenge_of(said.get("code_verifier", "")) or "",  # what is no verifier fits none, and burns the code too
            redirect_uri=said.get("redirect_uri"),
            resource=said.get("resource"),
            trace=traceparent(),
        )

    async def _refresh(self, client: Client, said: dict[str, str]) -> Issued:
        return await verbs.refresh(
            self.clients.pool,
            client,
            _needed(said, "refresh_token"),
            scopes=_scopes(said.get("scope")),
            resource=said.get("resource"),
            trace=traceparent(),
        )

    async def revoke(self, request: Request) -> Response:
        """What is no token, or another app's, is answered alike (RFC 7009, section 2.2)."""
        said = await form(request)
        client = await self.clients.authenticated(request.headers.get("authorization"), said)
        await verbs.revoke(self.clients.pool, client, _needed(said, "token"), trace=traceparent())
        return answer({})


def _needed(said: dict[str, str], name: str) -> str:
    if name not in said:
        raise OAuthError("invalid_request", f"The parameter {name} is missing.")
    return said[name]


def _scopes(said: str | None) -> tuple[Scope, ...] | None:
    """Those asked for at a refresh, None for all that there are. Raises OAuthError for what no app may hold."""
    if said is None:
        return None
    words = said.split()
    found = tuple(scope for scope in GRANTABLE if scope.value in words)
    if len(found) != len(set(words)) or not found:
        raise OAuthError("invalid_scope", "The person did not allow all of this. More needs a new consent.")
    return found
