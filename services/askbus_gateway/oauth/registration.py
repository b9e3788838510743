"""POST /oauth/register: an app introduces itself (RFC 7591). Everybody may, so it gives no rights: a person does, later."""

from collections.abc import Iterable

from pydantic import ValidationError
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from askbus.errors import InvalidInput
from askbus.incoming import refuse_hostile
from askbus.limits.model import Limited
from askbus.oauth import verbs
from askbus.oauth.metadata import LARGEST, ClientMetadata, MetadataError
from askbus.oauth.model import Client
from askbus_gateway.http.gate import Gate, read
from askbus_gateway.oauth.addresses import REGISTER, Addresses
from askbus_gateway.oauth.doors import OAuthError, answer, open_door


class Registration:
    """The route of registering."""

    def __init__(self, addresses: Addresses, gate: Gate, known: Iterable[str]) -> None:
        self.addresses = addresses
        self.gate = gate
        self.known = frozenset(known)

    def routes(self) -> list[Route]:
        return [Route(REGISTER, open_door(self.addresses, self.register), methods=["POST", "OPTIONS"])]

    async def register(self, request: Request) -> Response:
        await self.gate.limits.take(Limited.REGISTER, self.gate.address(request))
        metadata = _metadata(await read(request, LARGEST))
        try:
            metadata.check(self.known)
            method = metadata.method
        except MetadataError as error:
            raise OAuthError(error.error, str(error)) from None
        made = await verbs.register(
            self.gate.pool,
            name=metadata.name,
            redirect_uris=metadata.redirect_uris,
            auth_method=method,
            refreshes=metadata.refreshes,
        )
        if made is None:
            why = "Too many apps have registered and were not used. Try again tomorrow, or use a client-id metadata document."
            raise OAuthError("temporarily_unavailable", why, 503)
        return answer(_told(*made), 201)


def _metadata(data: bytes) -> ClientMetadata:
    try:
        refuse_hostile(data)
        return ClientMetadata.model_validate_json(data)
    except InvalidInput as error:
        raise OAuthError("invalid_client_metadata", error.message) from None
    except ValidationError as error:
        wrong = {str(problem["loc"][0]) for problem in error.errors() if problem["loc"]}
        if "redirect_uris" in wrong:
            raise OAuthError("invalid_redirect_uri", "redirect_uris are 1 to 10 addresses.") from None
        raise OAuthError(
            "invalid_client_metadata", f"Not as RFC 7591 has it: {', '.join(sorted(wrong)) or 'the body'}."
        ) from None


def _told(client: Client, secret: str | None) -> dict[str, object]:
    """What is registered, which may be less than was asked for (RFC 7591, section 3.2.1)."""
    said: dict[str, object] = {
        "client_id": client.client_id,
        "client_name": client.name,
        "redirect_uris": client.redirect_uris,
        "grant_types": ["authorization_code", *(["refresh_token"] if client.refreshes else [])],
        "response_types": ["code"],
        "token_endpoint_auth_method": client.auth_method.value,
    }
    return said if secret is None else {**said, "client_secret": secret, "client_secret_expires_at": 0}
