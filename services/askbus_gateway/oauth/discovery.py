"""What a client reads before it knows anything: which server gives tokens for the resource, and how (RFC 9728, RFC 8414)."""

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from askbus.oauth.model import GRANTABLE, AuthMethod
from askbus_gateway.oauth.addresses import AUTHORIZE, REGISTER, REVOKE, TOKEN, Addresses
from askbus_gateway.oauth.doors import answer, open_door

KEPT = {"Cache-Control": "public, max-age=300"}


class Discovery:
    """The routes of the two documents. There is no OpenID configuration: nobody signs in elsewhere with askbus."""

    def __init__(self, addresses: Addresses) -> None:
        self.addresses = addresses

    def routes(self) -> list[Route]:
        given = [(path, self.resource) for path in self.addresses.resource_metadata_paths]
        given += [(path, self.server) for path in self.addresses.server_metadata_paths]
        return [Route(path, open_door(self.addresses, endpoint), methods=["GET", "OPTIONS"]) for path, endpoint in given]

    async def resource(self, _request: Request) -> Response:
        return _document(
            {
                "resource": self.addresses.resource,
                "authorization_servers": [self.addresses.issuer],
                "scopes_supported": [scope.value for scope in GRANTABLE],
                "bearer_methods_supported": ["header"],
                "resource_name": "askbus",
            }
        )

    async def server(self, _request: Request) -> Response:
        at = self.addresses.at
        methods = [AuthMethod.NONE.value, AuthMethod.BASIC.value, AuthMethod.POST.value]
        return _document(
            {
                "issuer": self.addresses.issuer,
                "authorization_endpoint": at(AUTHORIZE),
                "token_endpoint": at(TOKEN),
                "registration_endpoint": at(REGISTER),
                "revocation_endpoint": at(REVOKE),
                "scopes_supported": [scope.value for scope in GRANTABLE],
                "response_types_supported": ["code"],
                "response_modes_supported": ["query"],
                "grant_types_supported": ["authorization_code", "refresh_token"],
                "token_endpoint_auth_methods_supported": methods,
                "revocation_endpoint_auth_methods_supported": methods,
                "code_challenge_methods_supported": ["S256"],
                "authorization_response_iss_parameter_supported": True,
                "client_id_metadata_document_supported": True,
                "protected_resources": [self.addresses.resource],
            }
        )


def _document(said: dict[str, object]) -> Response:
    return answer(said, headers=KEPT)
