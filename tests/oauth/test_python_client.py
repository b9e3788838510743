"""The official Python client, which finds its way from a 401 to a tool by itself; the browser is a person's."""

from collections.abc import AsyncIterator
from urllib.parse import parse_qs, urlsplit

import httpx2
import pytest
from mcp.client.auth import OAuthClientProvider, TokenStorage
from mcp.shared.auth import AuthorizationCodeResult, OAuthClientInformationFull, OAuthClientMetadata, OAuthToken
from pydantic import AnyUrl
from tests.oauth.browsing import ticket_of

from askbus.bus.envelope import Service
from askbus.bus.provision import provision
from askbus.stack.ports import free_port
from askbus.testing.composed import Composed, compose
from askbus.testing.people import Company
from askbus.testing.servers import Server, TestDatabase
from askbus_gateway.app import make_app as make_gateway


class Kept(TokenStorage):
    """What the client keeps for itself."""

    def __init__(self) -> None:
        self.tokens: OAuthToken | None = None
        self.client: OAuthClientInformationFull | None = None

    async def get_tokens(self) -> OAuthToken | None:
        return self.tokens

    async def set_tokens(self, tokens: OAuthToken) -> None:
        self.tokens = tokens

    async def get_client_info(self) -> OAuthClientInformationFull | None:
        return self.client

    async def set_client_info(self, client_info: OAuthClientInformationFull) -> None:
        self.client = client_info


@pytest.fixture
async def running(database: TestDatabase, nats_server: Server, company: Company) -> AsyncIterator[Composed]:
    """The gateway where its own address says that it is."""
    await provision(nats_server.url, ack_wait=1)
    port = free_port()
    url = f"http://localhost:{port}"
    async with compose(database, nats_server.url, [(Service.GATEWAY, make_gateway)], http_port=port, public_url=url) as running:
        yield running


@pytest.mark.requirement("M3", "M4", "M11")
async def test_it_registers_is_allowed_and_calls(running: Composed, company: Company) -> None:
    """As a public app or with a secret: discovery, registration, PKCE, the issuer's name and the tokens are as it wants them; when the
    access token is gone it refreshes."""
    for method in ("none", "client_secret_post", "client_secret_basic", None):
        await connects(running, company, method)


async def connects(running: Composed, company: Company, method: str | None) -> None:
    """From nothing to two calls."""
    port = urlsplit(running.http).port
    base = f"http://localhost:{port}"
    kept = Kept()
    cookies = {f"askbus_session_{port}": company["mia"].cookie}
    came_back: dict[str, str] = {}

    async def browser(url: str) -> None:
        async with httpx2.AsyncClient(cookies=cookies, headers={"origin": base}) as person:
            page = await person.get(url)
            form = {"ticket": ticket_of(page), "decision": "allow", "where": "projects", "project": str(company.north)}
            answer = await person.post(f"{base}/oauth/consent", data={**form, "scope": ["data:read", "questions:ask"]})
        came_back.update({name: value for name, (value,) in parse_qs(urlsplit(answer.headers["location"]).query).items()})

    async def callback() -> AuthorizationCodeResult:
        return AuthorizationCodeResult(code=came_back["code"], state=came_back["state"], iss=came_back["iss"])

    wants = OAuthClientMetadata.model_validate(
        {
            "client_name": "Client",
            "redirect_uris": [AnyUrl("http://localhost:3030/callback")],
            "token_endpoint_auth_method": method,
        }
    )
    auth = OAuthClientProvider(f"{base}/mcp", wants, kept, redirect_handler=browser, callback_handler=callback)
    call = {"jsonrpc": "2.0", "id": 1, "method": "tools/list"}
    headers = {"accept": "application/json, text/event-stream"}
    async with httpx2.AsyncClient(auth=auth, headers=headers, timeout=30) as client:
        listed = await client.post(f"{base}/mcp", json=call)
        assert listed.status_code == 200, listed.text
        assert [tool["name"] for tool in listed.json()["result"]["tools"]].count("propose_changes") == 0
        assert kept.tokens is not None
        assert kept.tokens.scope == "data:read questions:ask"
        first = kept.tokens
        auth.context.token_expiry_time = 1
        assert (await client.post(f"{base}/mcp", json=call)).status_code == 200
        assert (kept.tokens.access_token == first.access_token, kept.tokens.refresh_token == first.refresh_token) == (
            False,
            False,
        )
