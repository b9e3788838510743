"""What somebody tries who wants more than a person gave them. Each goes through the doors, over HTTP, with real sessions and tokens."""

import asyncio
from collections.abc import Mapping, Sequence

import httpx2
import pytest
from tests.oauth.browsing import ISSUER, NO_TLS, Browser, Client, sent_back, ticket_of

from askbus.access.credentials import new_secret
from askbus.access.model import Scope
from askbus.bus.envelope import Service
from askbus.db.pool import Pool
from askbus.testing.apps import RESOURCE
from askbus.testing.composed import Composed, compose
from askbus.testing.people import Company, give_token
from askbus.testing.servers import Server, TestDatabase
from askbus_gateway.app import make_app as make_gateway

pytestmark = pytest.mark.requirement("M3", "M4", "M5")


async def used(running: Composed, token: str, method: str = "tools/list") -> int:
    """What the door of MCP says to this token."""
    headers = {"authorization": f"Bearer {token}"}
    async with httpx2.AsyncClient(base_url=running.http, headers=headers, verify=NO_TLS) as client:
        response = await client.post("/mcp", json={"jsonrpc": "2.0", "id": 1, "method": method})
    return response.status_code


@pytest.fixture
async def client(running: Composed) -> Client:
    """An app that registered itself."""
    client = Client(running.http)
    await client.register()
    return client


async def connected(running: Composed, company: Company, client: Client, who: str = "mia") -> Mapping[str, str]:
    """The tokens of an app that this person allowed to read."""
    code = await Browser(running, company[who]).code(client, company.north)
    response = await client.redeem(code)
    assert response.status_code == 200, response.text
    tokens: Mapping[str, str] = response.json()
    return tokens


async def test_a_code_is_worth_one_exchange_by_who_began_it(running: Composed, company: Company, client: Client) -> None:
    """Replayed, with another verifier, with none, by another app, for another resource, back at another address: no token comes of it, the
    right request is too late then, and a replay ends what the first one gave."""
    mia, thief = Browser(running, company["mia"]), Client(running.http)
    await thief.register(client_name="Thief")
    tokens = await connected(running, company, client)
    assert await used(running, tokens["access_token"]) == 200
    for said, error in (
        ({"code_verifier": new_secret()}, "invalid_grant"),
        ({"code_verifier": None}, "invalid_grant"),
        ({"code_verifier": "short"}, "invalid_grant"),
        ({"client_id": thief.id}, "invalid_grant"),
        ({"resource": "http://localhost"}, "invalid_target"),
        ({"resource": f"{RESOURCE}/"}, "invalid_target"),
        ({"redirect_uri": "http://127.0.0.1:33419/callback"}, "invalid_grant"),
    ):
        code = await mia.code(client, company.north)
        for asked in (said, {}):
            refused = await client.redeem(code, **asked)
            assert refused.status_code == 400, (said, refused.text)
            assert refused.headers["cache-control"] == "no-store"
            assert refused.json()["error"] == (error if asked else "invalid_grant"), said
    code = await mia.code(client, company.north)
    fresh = (await client.redeem(code)).json()
    assert await used(running, fresh["access_token"]) == 200
    assert (await client.redeem(code)).json()["error"] == "invalid_grant"
    assert await used(running, fresh["access_token"]) == 401
    assert await used(running, tokens["access_token"]) == 200  # another grant


UNSAFE: Sequence[tuple[Mapping[str, str | None], str]] = [
    ({"code_challenge": None}, "invalid_request"),
    ({"code_challenge_method": None}, "invalid_request"),
    ({"code_challenge_method": "plain"}, "invalid_request"),
    ({"code_challenge": "short"}, "invalid_request"),
    ({"response_type": "token"}, "unsupported_response_type"),
    ({"response_type": None}, "unsupported_response_type"),
    ({"response_mode": "fragment"}, "invalid_request"),
    ({"resource": "http://localhost"}, "invalid_target"),
    ({"resource": "http://localhost/mcp/"}, "invalid_target"),
    ({"scope": "actions:confirm questions:answer chat"}, "invalid_scope"),
    ({"scope": "openid"}, "invalid_scope"),
]


async def test_a_request_that_is_less_than_safe_is_refused_before_anybody_is_asked(
    running: Composed, company: Company, client: Client, pool: Pool
) -> None:
    """PKCE left out or made plain, tokens in the address, another resource, scopes that no app may hold; each answer names its issuer."""
    for said, error in UNSAFE:
        refused = await Browser(running, company["owner"]).get("/oauth/authorize", client.asks(**said))
        told = sent_back(refused)
        assert (told["error"], told["iss"], told["state"]) == (error, ISSUER, "xyz"), said
    assert await pool.fetchval("SELECT count(*) FROM oauth_requests") == 0


async def test_nobody_is_sent_to_an_address_that_was_not_registered(running: Composed, company: Company, client: Client) -> None:
    """Look-alikes and unknown apps are told to the person, not to the address; and to one on the Internet, which anybody may register,
    nobody is sent for an error either, but by their own click."""
    owner = Browser(running, company["owner"])
    for said in (
        {"redirect_uri": "https://evil.example/callback"},
        {"redirect_uri": "http://127.0.0.1:33418/callback/"},
        {"redirect_uri": "http://127.0.0.1:33418@evil.example/callback"},
        {"redirect_uri": "http://127.0.0.1.evil.example/callback"},
        {"redirect_uri": "javascript:alert(1)"},
        {"redirect_uri": "//evil.example"},
        {"client_id": "not an app"},
        {"client_id": str(company.north)},
        {"client_id": client.id.upper()},
        {"client_id": None},
    ):
        shown = await owner.get("/oauth/authorize", client.asks(**said, response_type="token"))
        assert (shown.status_code, "location" in shown.headers, "evil" in shown.text) == (400, False, False), said
    public = Client(running.http)
    await public.register(redirect_uris=["https://evil.example/cb?x=1"])
    shown = await owner.get("/oauth/authorize", public.asks(redirect_uri=None, scope="none"))
    assert (shown.status_code, "location" in shown.headers) == (400, False)
    assert 'href="https://evil.example/cb?x=1&amp;error=invalid_scope' in shown.text
    away = await owner.get("/oauth/authorize", client.asks(redirect_uri=None))  # it registered one address alone
    assert away.status_code == 200


async def test_the_answer_to_a_page_counts_from_that_page_alone(running: Composed, company: Company, client: Client) -> None:
    """Other origins, other sessions, made-up tickets, other kinds of requests; and no frame holds the page, nor runs a script on it."""
    mia = Browser(running, company["mia"])
    page = await mia.get("/oauth/authorize", client.asks())
    policy = page.headers["content-security-policy"]
    assert "default-src 'none'" in policy
    assert "frame-ancestors 'none'" in policy
    assert "form-action 'self' http://127.0.0.1:33418" in policy
    assert "script" not in policy
    assert (page.headers["x-frame-options"], page.headers["cache-control"]) == ("DENY", "no-store")
    assert "access-control-allow-origin" not in page.headers
    ticket = ticket_of(page)
    form = {"scope": "data:read", "where": "projects", "project": str(company.north)}
    for origin in ("https://evil.example", "null", "http://127.0.0.1", f"{running.http}.evil.example"):
        assert (await mia.submit(ticket, origin=origin, **form)).status_code == 403
    async with running.client(company["mia"]) as browser:
        foreign = {"sec-fetch-site": "cross-site"}
        assert (await browser.post("/oauth/consent", data={"ticket": ticket, **form}, headers=foreign)).status_code == 403
        assert (await browser.post("/oauth/consent", json={"ticket": ticket, **form})).status_code == 415
        assert (await browser.get("/oauth/consent", params={"ticket": ticket, **form})).status_code == 405
        assert (await browser.post("/oauth/consent", data=form)).status_code == 400
    for other in (Browser(running, company["owner"]), Browser(running, company["stranger"]), Browser(running, None)):
        assert (await other.submit(ticket, **form)).status_code == 404
        assert (await other.submit(ticket, decision="deny")).status_code == 404
    assert (await mia.submit(new_secret(), **form)).status_code == 404
    assert "code" in sent_back(await mia.submit(ticket, **form))
    assert (await mia.submit(ticket, **form)).status_code == 404


async def test_a_session_that_changed_between_page_and_answer_allows_nothing(
    running: Composed, company: Company, client: Client, pool: Pool
) -> None:
    """Signed out, made a viewer, or thrown out of the project meanwhile: what counts is what they may now."""
    mia = Browser(running, company["mia"])
    form = {"where": "projects", "project": str(company.north)}
    first, second, third = [await mia.ticket(client) for _ in range(3)]
    await pool.execute("UPDATE memberships SET role = 'viewer' WHERE user_id = $1", company["mia"].id)
    assert (await mia.submit(first, scope=["data:read", "actions:propose"], **form)).status_code == 400
    await pool.execute("DELETE FROM project_members WHERE user_id = $1", company["mia"].id)
    assert (await mia.submit(second, scope="data:read", **form)).status_code == 404
    async with running.client(company["mia"]) as browser:
        await browser.request("DELETE", "/v1/session", headers={"x-askbus": "1"})
    assert (await mia.submit(third, scope="data:read", **form)).status_code == 404
    assert await pool.fetchval("SELECT count(*) FROM oauth_codes") == 0


async def test_a_grant_is_never_wider_than_what_was_asked_and_may_be_given(
    running: Composed, company: Company, client: Client, pool: Pool
) -> None:
    """Scopes that the app did not ask for, projects of others, the whole workspace by a member, a demo user's anything; and no refresh
    gives more than the consent did."""
    mia = Browser(running, company["mia"])
    ticket = await mia.ticket(client, scope="data:read questions:ask")
    own = {"where": "projects", "project": str(company.north)}
    for scope in (["data:read", "actions:propose"], ["actions:confirm"], ["data:read", "chat"], ["made:up"]):
        assert (await mia.submit(ticket, scope=scope, **own)).status_code == 400, scope
    for project in (company.south, company.elsewhere, company.workspace_id):
        several = [str(company.north), str(project)]
        assert (await mia.submit(ticket, scope="data:read", where="projects", project=several)).status_code == 404, project
    assert (await mia.submit(ticket, scope="data:read", where="projects", project="x")).status_code == 404
    assert (await mia.submit(ticket, scope="data:read", where="workspace")).status_code == 400
    assert await pool.fetchval("SELECT count(*) FROM oauth_codes") == 0
    code = sent_back(await mia.submit(ticket, scope="data:read", **own))["code"]
    tokens = (await client.redeem(code)).json()
    for wider in ("data:read questions:ask", "actions:confirm", "data:read made:up"):
        assert (await client.refresh(tokens["refresh_token"], scope=wider)).json()["error"] == "invalid_scope"
    assert (await client.refresh(tokens["refresh_token"], scope="data:read")).json()["scope"] == "data:read"
    demo = await Browser(running, company["demo"]).get("/oauth/authorize", client.asks())
    assert sent_back(demo)["error"] == "access_denied"
    viewer = await Browser(running, company["viewer"]).get("/oauth/authorize", client.asks())
    assert ('value="data:read"' in viewer.text, 'value="actions:propose"' in viewer.text) == (True, False)
    agent = await give_token(pool, company["owner"], scopes=(Scope.DATA_READ,))
    async with running.client(agent) as bearer:
        assert (await bearer.get("/oauth/authorize", params=client.asks())).status_code == 303  # to sign in: no token consents


async def test_five_refreshes_at_once_leave_one_session_and_a_late_one_ends_it(
    running: Composed, company: Company, client: Client
) -> None:
    """Over five connections: the same successor for each, all of them good. Once the successor was used, the old one is a thief's."""
    tokens = await connected(running, company, client)
    answers = await asyncio.gather(*(client.refresh(tokens["refresh_token"]) for _ in range(5)))
    assert [answer.status_code for answer in answers] == [200] * 5
    (successor,) = {answer.json()["refresh_token"] for answer in answers}
    assert [await used(running, answer.json()["access_token"]) for answer in answers] == [200] * 5
    latest = (await client.refresh(successor)).json()
    assert await used(running, latest["access_token"]) == 200
    assert (await client.refresh(tokens["refresh_token"])).json()["error"] == "invalid_grant"
    assert await used(running, latest["access_token"]) == 401
    assert (await client.refresh(latest["refresh_token"])).json()["error"] == "invalid_grant"


async def test_an_app_does_nothing_with_the_tokens_of_another(running: Composed, company: Company, client: Client) -> None:
    """It refreshes none and takes none back; and each kind of token is worth nothing in the place of another."""
    thief = Client(running.http)
    await thief.register(client_name="Thief")
    tokens = await connected(running, company, client)
    assert (await thief.refresh(tokens["refresh_token"])).json()["error"] == "invalid_grant"
    for token in tokens["access_token"], tokens["refresh_token"], "made up":
        assert (await thief.post("/oauth/revoke", {"client_id": thief.id, "token": token})).status_code == 200
    assert await used(running, tokens["access_token"]) == 200
    assert (await client.refresh(tokens["access_token"])).json()["error"] == "invalid_grant"
    assert await used(running, tokens["refresh_token"]) == 401
    assert (await client.post("/oauth/revoke", {"client_id": client.id, "token": tokens["access_token"]})).status_code == 200
    assert await used(running, tokens["access_token"]) == 401
    assert (await client.refresh(tokens["refresh_token"])).status_code == 200


async def test_a_token_for_one_deployment_is_worth_nothing_at_another(
    running: Composed, company: Company, client: Client, database: TestDatabase, nats_server: Server, pool: Pool
) -> None:
    """Even over the same rows: the audience is compared exactly, port included. What the switch says, every door says."""
    tokens = await connected(running, company, client)
    services = [(Service.GATEWAY, make_gateway)]
    async with compose(database, nats_server.url, services, public_url="http://localhost:8080") as other:
        assert await used(other, tokens["access_token"]) == 401
    assert await used(running, tokens["access_token"]) == 200
    agent = await give_token(pool, company["mia"], scopes=(Scope.DATA_READ,))
    assert await used(running, agent.token) == 200
    async with running.client(company["admin"]) as admin:
        await admin.patch("/v1/connected-apps", json={"mcp": False})
    assert [await used(running, token) for token in (tokens["access_token"], agent.token)] == [403, 403]
