"""How the authorization server is put together."""

import structlog
from starlette.routing import Route

from askbus.outbound.client import Outbound
from askbus.runtime.settings import Settings
from askbus_gateway.http.gate import Gate
from askbus_gateway.oauth.addresses import NEEDS_HTTPS, Addresses
from askbus_gateway.oauth.authorize import Authorize
from askbus_gateway.oauth.clients import Clients
from askbus_gateway.oauth.discovery import Discovery
from askbus_gateway.oauth.registration import Registration
from askbus_gateway.oauth.tokens import Tokens

log = structlog.get_logger()


def oauth_routes(gate: Gate, settings: Settings, outbound: Outbound) -> list[Route]:
    """Every route of OAuth. `outbound` reads the metadata documents of apps."""
    addresses = Addresses(gate.public_url)
    if not addresses.served:
        log.warning("oauth.not_served", reason=NEEDS_HTTPS)
    clients = Clients(gate.pool, gate.limits, outbound, settings.oauth_redirects)
    return [
        *Discovery(addresses).routes(),
        *Registration(addresses, gate, settings.oauth_redirects).routes(),
        *Tokens(addresses, clients).routes(),
        *Authorize(addresses, gate, clients).routes(),
    ]
