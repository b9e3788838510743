"""An app and a person's browser, as they go through the doors of OAuth: every request on the wire, no redirect followed."""

import re
import ssl
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import parse_qs, urlsplit

import httpx2

from askbus.access.credentials import new_secret
from askbus.oauth.model import challenge_of
from askbus.testing.apps import CALLBACK, RESOURCE
from askbus.testing.composed import Composed
from askbus.testing.people import Person

ISSUER = "http://localhost"
NO_TLS = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
"""Nothing here is encrypted: reading the system's certificates for each client would cost more than all of the requests."""
ADDRESSES = [CALLBACK]
READ = ("data:read",)


@dataclass
class Client:
    """An app that runs somewhere: what it registered as, and the PKCE verifier of its latest request."""

    http: str
    told: dict[str, Any] = field(default_factory=dict)
    verifier: str = field(default_factory=new_secret)

    @property
    def id(self) -> str:
        return str(self.told["client_id"])

    async def register(self, **said: object) -> httpx2.Response:
        body = {"client_name": "Editor", "redirect_uris": ADDRESSES, "token_endpoint_auth_method": "none", **said}
        async with httpx2.AsyncClient(base_url=self.http, verify=NO_TLS) as client:
            response = await client.post("/oauth/register", json=body)
        if response.status_code == 201:
            self.told = response.json()
        return response

    def asks(self, **said: str | None) -> dict[str, str]:
        """The parameters of a request for consent; None leaves one out."""
        self.verifier = new_secret()
        challenge = challenge_of(self.verifier)
        asked = {
            "response_type": "code",
            "client_id": self.id,
            "redirect_uri": "http://127.0.0.1:33418/callback",
            "code_challenge": challenge,
            "code_challenge_method": "S256",
            "resource": RESOURCE,
            "state": "xyz",
            **said,
        }
        return {name: value for name, value in asked.items() if value is not None}

    async def post(self, path: str, said: Any, **headers: str) -> httpx2.Response:
        async with httpx2.AsyncClient(base_url=self.http, verify=NO_TLS) as client:
            return await client.post(path, data=said, headers=headers)

    async def redeem(self, code: str, **said: str | None) -> httpx2.Response:
        asked = {
            "grant_type": "authorization_code",
            "client_id": self.id,
            "code": code,
            "code_verifier": self.verifier,
            "redirect_uri": "http://127.0.0.1:33418/callback",
            "resource": RESOURCE,
            **said,
        }
        return await self.post("/oauth/token", {name: value for name, value in asked.items() if value is not None})

    async def refresh(self, token: str, **said: str) -> httpx2.Response:
        return await self.post(
            "/oauth/token", {"grant_type": "refresh_token", "client_id": self.id, "refresh_token": token, **said}
        )


@dataclass
class Browser:
    """A person's browser, or that of nobody."""

    running: Composed
    who: Person | None

    def client(self) -> httpx2.AsyncClient:
        """What it sends its requests with."""
        cookies = {} if self.who is None else {"askbus_session": self.who.cookie}
        return httpx2.AsyncClient(base_url=self.running.http, cookies=cookies, verify=NO_TLS, timeout=30)

    async def get(self, path: str, said: Any = None) -> httpx2.Response:
        async with self.client() as client:
            return await client.get(path, params=said)

    async def ticket(self, client: Client, **said: str | None) -> str:
        """Opens the consent page; what stands hidden in its form."""
        page = await self.get("/oauth/authorize", client.asks(**said))
        assert page.status_code == 200, page.text
        return ticket_of(page)

    async def submit(self, ticket: str, *, origin: str | None = None, **said: str | Sequence[str]) -> httpx2.Response:
        form = {"ticket": ticket, "decision": "allow", **said}
        headers = {"origin": self.running.http if origin is None else origin}
        async with self.client() as client:
            return await client.post("/oauth/consent", data=form, headers=headers)

    async def code(self, client: Client, project: object, scope: Sequence[str] = READ, **said: str | None) -> str:
        """Allows this much, in this project."""
        ticket = await self.ticket(client, **said)
        answer = await self.submit(ticket, scope=scope, where="projects", project=str(project))
        return sent_back(answer)["code"]


def ticket_of(page: httpx2.Response) -> str:
    found = re.search(r'name="ticket" value="([A-Za-z0-9_-]{43})"', page.text)
    assert found is not None
    return found[1]


def sent_back(response: httpx2.Response, to: str = "http://127.0.0.1:33418/callback") -> dict[str, str]:
    """What the app is told by the browser that comes back to it."""
    assert response.status_code == 303, response.text
    where = urlsplit(response.headers["location"])
    assert f"{where.scheme}://{where.netloc}{where.path}" == to
    return {name: value for name, (value,) in parse_qs(where.query).items()}
