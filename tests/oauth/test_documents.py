"""Apps that show a metadata document instead of registering: read from the real wire, over TLS, under the policy for others' addresses."""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from tests.oauth.browsing import ADDRESSES, Browser, Client, sent_back

from askbus.bus.envelope import Service
from askbus.bus.provision import provision
from askbus.db.pool import Pool
from askbus.testing.certificates import certificate
from askbus.testing.composed import Composed, compose
from askbus.testing.people import Company
from askbus.testing.servers import Server, TestDatabase
from askbus_gateway.app import make_app as make_gateway

pytestmark = pytest.mark.requirement("M3")


@dataclass
class Site:
    """Where apps keep their documents. `answers` are status, headers and body by path."""

    port: int = 0
    answers: dict[str, tuple[int, dict[str, str], bytes]] = field(default_factory=dict)
    asked: list[str] = field(default_factory=list)

    def url(self, path: str) -> str:
        return f"https://localhost:{self.port}{path}"

    def puts(self, path: str, *, status: int = 200, kind: str = "application/json", cache: str = "", **said: object) -> str:
        """Keeps a document; returns the client_id."""
        url = self.url(path)
        body = {"client_id": url, "client_name": "Editor", "redirect_uris": ADDRESSES, **said}
        headers = {"content-type": kind, **({"cache-control": cache} if cache else {})}
        self.answers[path] = (status, headers, json.dumps(body).encode())
        return url

    async def on_connection(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            path = (await reader.readuntil(b"\r\n\r\n")).decode("ascii").split(" ")[1]
            self.asked.append(path)
            status, headers, body = self.answers.get(path, (404, {}, b""))
            said = "".join(f"{name}: {value}\r\n" for name, value in headers.items())
            writer.write(f"HTTP/1.1 {status} So\r\n{said}content-length: {len(body)}\r\n\r\n".encode() + body)
            await writer.drain()
        except ConnectionError:
            pass  # whoever asked has read enough
        finally:
            writer.close()


@asynccontextmanager
async def serving(folder: Path) -> AsyncIterator[Site]:
    """Listens on loopback under the name localhost; `server.pem` in the folder is its certificate."""
    tls, _trust = certificate(folder, "localhost")
    site = Site()
    server = await asyncio.start_server(site.on_connection, "127.0.0.1", 0, ssl=tls)
    site.port = server.sockets[0].getsockname()[1]
    try:
        yield site
    finally:
        server.close()


@pytest.fixture
async def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Site]:
    """One that the gateway trusts."""
    async with serving(tmp_path) as site:
        monkeypatch.setenv("SSL_CERT_FILE", str(tmp_path / "server.pem"))
        yield site


@pytest.fixture
async def running(database: TestDatabase, nats_server: Server, company: Company, site: Site) -> AsyncIterator[Composed]:
    """The gateway, whose operator lists this one host."""
    await provision(nats_server.url, ack_wait=1)
    services = [(Service.GATEWAY, make_gateway)]
    async with compose(database, nats_server.url, services, outbound_hosts=f"localhost:{site.port}") as running:
        yield running


async def test_an_app_is_known_by_the_address_of_its_document(
    running: Composed, company: Company, site: Site, pool: Pool
) -> None:
    """Without registering; the document is read once while it is fresh, anew afterwards, and what it says then counts."""
    client = Client(running.http, {"client_id": site.puts("/editor.json", cache="public, max-age=86400000")})
    mia = Browser(running, company["mia"])
    page = await mia.get("/oauth/authorize", client.asks())
    assert ("Editor" in page.text, "described at localhost" in page.text) == (True, True)
    tokens = (await client.redeem(await mia.code(client, company.north))).json()
    assert tokens["scope"] == "data:read"
    assert (await client.refresh(tokens["refresh_token"])).status_code == 200
    assert site.asked == ["/editor.json"]
    fresh = "SELECT fresh_until - now() BETWEEN interval '23 hours' AND interval '24 hours' FROM oauth_clients"
    assert await pool.fetchval(fresh)
    site.puts("/editor.json", client_name="Renamed", redirect_uris=["https://elsewhere.example/cb"])
    await pool.execute("UPDATE oauth_clients SET fresh_until = now()")
    moved = await mia.get("/oauth/authorize", client.asks())
    assert (moved.status_code, "did not register" in moved.text) == (400, True)
    assert await pool.fetchval("SELECT array_agg(name) FROM oauth_clients") == ["Renamed"]
    secret = await client.post("/oauth/token", {"grant_type": "refresh_token", "client_id": client.id, "client_secret": "x"})
    assert secret.json()["error"] == "invalid_client"


async def test_a_document_that_is_not_the_app_s_own_word_is_refused(
    running: Composed, company: Company, site: Site, pool: Pool
) -> None:
    """Another's client_id, a redirect, a page, too much, an error, nothing that fits: told to the person, and nothing is kept."""
    mia = Browser(running, company["mia"])
    client_id = site.url("/x.json")
    site.puts("/other.json")
    cases: dict[str, str] = {
        "names another client_id": site.puts("/a.json", client_id=site.url("/other.json")),
        "no redirect is followed": site.puts("/b.json", status=302),
        "answered 404": site.puts("/c.json", status=404),
        "no application/json": site.puts("/d.json", kind="text/html"),
        "has no secret here": site.puts("/e.json", token_endpoint_auth_method="client_secret_basic"),  # a method
        "has no secret here.": site.puts("/f.json", client_secret="x"),  # none either
        "cannot be taken": site.puts("/g.json", redirect_uris=["javascript:alert(1)"]),
        "lacks what": site.puts("/h.json", redirect_uris=[]),
        "too large": site.puts("/i.json", padding="x" * 70_000),
        "lacks what an app": site.url("/j.json"),
        "has a path": site.url("/"),
        "dot segments": site.url("/../x.json"),
        "is no address": "https://[/x",
    }
    site.answers["/b.json"] = (302, {"location": site.url("/other.json"), "content-type": "application/json"}, b"")
    site.answers["/j.json"] = (200, {"content-type": "application/json"}, b"[]")
    for words, client_id in cases.items():
        shown = await mia.get("/oauth/authorize", Client(running.http, {"client_id": client_id}).asks())
        assert (shown.status_code, "location" in shown.headers) == (400, False), client_id
        assert words.removesuffix(".") in shown.text, (client_id, shown.text)
    assert "/other.json" not in site.asked
    assert await pool.fetchval("SELECT count(*) FROM oauth_clients") == 0


async def test_no_document_is_read_inside_the_operator_s_network_nor_for_nobody(
    running: Composed, company: Company, site: Site
) -> None:
    """By address or by name, whatever the port; and only for somebody who is signed in, as often as they might register."""
    mia = Browser(running, company["mia"])
    path = site.puts("/editor.json").partition(f":{site.port}")[2]
    for host in (f"127.0.0.1:{site.port}", f"[::1]:{site.port}", "169.254.169.254", "localhost", "10.0.0.1:443"):
        client = Client(running.http, {"client_id": f"https://{host}{path}"})
        assert (await mia.get("/oauth/authorize", client.asks())).status_code == 400
    client = Client(running.http, {"client_id": site.url(path)})
    assert (await Browser(running, None).get("/oauth/authorize", client.asks())).status_code == 303
    refused = await client.post("/oauth/token", {"grant_type": "refresh_token", "client_id": client.id, "refresh_token": "x"})
    assert refused.status_code == 401
    assert site.asked == []
    assert "code" in sent_back(
        await mia.submit(await mia.ticket(client), scope="data:read", where="projects", project=str(company.north))
    )
    limited = [
        await mia.get("/oauth/authorize", Client(running.http, {"client_id": site.url(f"/{n}")}).asks()) for n in range(30)
    ]
    assert limited[-1].status_code == 429
