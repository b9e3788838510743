"""An app from its registration to its end, over HTTP, with the person who allows it."""

import json
from pathlib import Path

import httpx2
import pytest
from tests.oauth.browsing import ISSUER, Browser, Client, sent_back, ticket_of

from askbus.access.model import Scope
from askbus.bus.envelope import Service
from askbus.bus.provision import provision
from askbus.db.pool import Pool
from askbus.oauth import reads
from askbus.oauth.model import GRANTABLE
from askbus.testing.apps import RESOURCE
from askbus.testing.composed import Composed, compose
from askbus.testing.people import Company
from askbus.testing.servers import Server, TestDatabase
from askbus_gateway.app import make_app as make_gateway

CASE = json.loads((Path(__file__).parents[1] / "cases/mcp/M01.json").read_text("utf-8"))


@pytest.mark.requirement("M3", "M4", "M5", "I1")
async def test_an_app_is_allowed_what_the_person_ticked_and_no_more(running: Composed, company: Company, pool: Pool) -> None:
    """It registers, sends the person to the page, fetches its tokens, refreshes them and gives them back; each door says what it must."""
    client, mia = Client(running.http), Browser(running, company["mia"])
    registered = await client.register(grant_types=["authorization_code", "refresh_token"], client_uri="https://x.example")
    assert registered.status_code == 201
    assert (client.told["token_endpoint_auth_method"], "client_secret" in client.told) == ("none", False)
    assert registered.headers["access-control-allow-origin"] == "*"
    page = await mia.get("/oauth/authorize", client.asks())
    assert [f'value="{scope.value}"' in page.text for scope in GRANTABLE] == [True] * 6
    assert page.text.count('" checked>') == 1  # data:read: nothing that writes, and no project, so that one click allows nothing
    assert page.headers.get_list("cross-origin-opener-policy") == ["unsafe-none"]
    assert "Unverified" in page.text
    assert "127.0.0.1" in page.text
    answer = await mia.submit(ticket_of(page), scope=["data:read", "questions:ask"], where="projects", project=str(company.north))
    said = sent_back(answer)
    assert (said["state"], said["iss"], "code" in said) == ("xyz", ISSUER, True)
    fetched = await client.redeem(said["code"])
    assert (fetched.status_code, fetched.headers["cache-control"]) == (200, "no-store")
    tokens = fetched.json()
    assert (tokens["token_type"], tokens["expires_in"], tokens["scope"]) == ("Bearer", 600, "data:read questions:ask")
    found = await reads.principal_of_access_token(pool, tokens["access_token"], RESOURCE)
    assert found is not None
    assert (found.scopes, found.projects) == (frozenset({Scope.DATA_READ, Scope.QUESTIONS_ASK}), (company.north,))
    async with httpx2.AsyncClient(base_url=running.http, headers={"authorization": f"Bearer {tokens['access_token']}"}) as app:
        assert (await app.get("/v1/me")).status_code == 401  # no other door knows it
    again = (await client.refresh(tokens["refresh_token"])).json()
    assert again["scope"] == tokens["scope"]
    given_back = await client.post("/oauth/revoke", {"client_id": client.id, "token": again["refresh_token"]})
    assert given_back.status_code == 200
    assert await reads.principal_of_access_token(pool, again["access_token"], RESOURCE) is None
    assert (await client.refresh(again["refresh_token"])).json()["error"] == "invalid_grant"


@pytest.mark.requirement("M3", "M4")
async def test_nobody_is_asked_without_a_session_and_everybody_every_time(running: Composed, company: Company) -> None:
    """Who is not signed in goes to sign in, with the way back, which is ours alone; who allowed it a minute ago is asked again."""
    client = Client(running.http)
    await client.register()
    asked = client.asks()
    sent = await Browser(running, None).get("/oauth/authorize", asked)
    assert (sent.status_code, sent.headers["location"][:13]) == (303, "/?return_to=%")
    back = httpx2.URL(f"http://x{sent.headers['location']}").params["return_to"]
    assert back.startswith("/oauth/authorize?response_type=code&client_id=")
    owner = Browser(running, company["owner"])
    assert (await owner.get(back)).status_code == 200
    first = sent_back(await owner.submit(await owner.ticket(client), scope="data:read", where="workspace"))
    assert (await client.redeem(first["code"])).status_code == 200
    assert (await owner.get("/oauth/authorize", client.asks())).status_code == 200


@pytest.mark.requirement("M4")
async def test_the_person_refuses_or_removes_scopes_and_forgets_nothing(running: Composed, company: Company) -> None:
    """A refusal is told to the app; a page without what it needs is shown again, as it was filled in."""
    client, owner = Client(running.http), Browser(running, company["owner"])
    await client.register(client_name="<script>alert(1)</script>\u202e")
    page = await owner.get("/oauth/authorize", client.asks(scope="data:read actions:propose chat actions:confirm unknown"))
    assert "<script" not in page.text
    assert "&lt;script&gt;" in page.text
    assert ('value="actions:propose"' in page.text, 'value="chat"' in page.text) == (True, False)
    assert "what no app may have here: actions:confirm, chat" in page.text
    ticket = ticket_of(page)
    for form, words in (
        ({"where": "workspace"}, "Tick at least one"),
        ({"scope": "actions:propose", "where": "projects"}, "Choose where"),
        ({"scope": "actions:propose"}, "Choose where"),
    ):
        again = await owner.submit(ticket, **form)
        assert (again.status_code, words in again.text, ticket_of(again)) == (400, True, ticket)
    said = sent_back(await owner.submit(ticket, decision="deny"))
    assert (said["error"], said["state"], said["iss"]) == ("access_denied", "xyz", ISSUER)
    assert (await owner.submit(ticket, scope="data:read", where="workspace")).status_code == 404


@pytest.mark.requirement("M4", "M5")
async def test_connected_apps_are_listed_and_removed_and_admins_have_a_switch(
    running: Composed, company: Company, pool: Pool
) -> None:
    """Each with where it returns to and its last use; one's own, all of them for admins; an app that was removed is dead at once."""
    client = Client(running.http)
    await client.register()
    tokens = {}
    for who in ("mia", "owner"):
        code = await Browser(running, company[who]).code(client, company.north)
        tokens[who] = (await client.redeem(code)).json()
        await reads.principal_of_access_token(pool, tokens[who]["access_token"], RESOURCE)
    async with running.client(company["mia"]) as mia, running.client(company["admin"]) as admin:
        (own,) = (await mia.get("/v1/connected-apps")).json()["apps"]
        assert (own["name"], own["host"], own["scopes"], own["projects"], own["last_used_at"] is not None) == (
            "Editor", "127.0.0.1", ["data:read"], [str(company.north)], True,
        )  # fmt: skip
        assert (await mia.get("/v1/tokens")).json()["tokens"] == []
        assert (await mia.get("/v1/connected-apps?of=workspace")).status_code == 403
        assert (await mia.patch("/v1/connected-apps", json={"mcp": False})).status_code == 403
        everybodys = (await admin.get("/v1/connected-apps?of=workspace")).json()["apps"]
        assert [app["user_name"] for app in everybodys] == ["owner", "mia"]
        others = f"/v1/connected-apps/{everybodys[0]['id']}"
        assert (await mia.request("DELETE", others, headers={"x-askbus": "1"})).status_code == 404
        assert (await mia.request("DELETE", f"/v1/tokens/{own['id']}", headers={"x-askbus": "1"})).status_code == 404
        assert (await admin.request("DELETE", others, headers={"x-askbus": "1"})).status_code == 204
        assert await reads.principal_of_access_token(pool, tokens["owner"]["access_token"], RESOURCE) is None
        assert (await mia.request("DELETE", f"/v1/connected-apps/{own['id']}", headers={"x-askbus": "1"})).status_code == 204
        assert await reads.principal_of_access_token(pool, tokens["mia"]["access_token"], RESOURCE) is None
        assert (await mia.get("/v1/connected-apps")).json() == {"mcp": True, "url": RESOURCE, "apps": []}
        assert (await admin.patch("/v1/connected-apps", json={"mcp": False})).json() == {"mcp": False}
    refused = sent_back(await Browser(running, company["owner"]).get("/oauth/authorize", client.asks()))
    assert (refused["error"], "switched off" in refused["error_description"]) == ("access_denied", True)
    audited = await pool.fetch("SELECT event, via FROM audit_log WHERE event LIKE 'app.%' OR event LIKE 'mcp.%' ORDER BY id")
    assert [row["event"] for row in audited] == [
        "app.allowed", "app.connected", "app.allowed", "app.connected", "app.removed", "app.removed", "mcp.switched_off",
    ]  # fmt: skip


@pytest.mark.requirement("M3")
@pytest.mark.parametrize("base", ["https://h.example", "https://h.example/team/"])
async def test_discovery_speaks_of_the_configured_address_alone(database: TestDatabase, nats_server: Server, base: str) -> None:
    """The handed case: both forms of both documents, none of them behind credentials; the Host of a request changes nothing."""
    issuer = base.rstrip("/")
    await provision(nats_server.url, ack_wait=1)
    async with (
        compose(database, nats_server.url, [(Service.GATEWAY, make_gateway)], public_url=base) as running,
        httpx2.AsyncClient(base_url=running.http, headers={"host": "evil.example", "origin": "https://app.example"}) as client,
    ):
        for request in CASE["requests"]:
            method, path = request["req"].split()[:2]
            if method == "POST" and "/team" in base:
                continue  # where a path comes before it, the case has no words for the place of its description
            response = await client.request(method, path)
            status = request["status"] if isinstance(request["status"], list) else [request["status"]]
            assert response.status_code in status, path
            if "header" in request:
                challenge = request["header"]["WWW-Authenticate"].replace('"..."', f'"{" ".join(GRANTABLE)}"')
                assert response.headers["www-authenticate"] == challenge
            if "json" in request:
                wanted = {name: value.replace(CASE["public_base"], issuer) for name, value in request["json"].items()}
                assert {name: response.json()[name] for name in wanted} == wanted
                assert response.headers["access-control-allow-origin"] == "*"
                assert "evil" not in response.text
        server = (await client.get("/.well-known/oauth-authorization-server")).json()
        assert server["token_endpoint"] == f"{issuer}/oauth/token"
        assert server["code_challenge_methods_supported"] == ["S256"]
        assert server["token_endpoint_auth_methods_supported"][0] == "none"
        assert server["authorization_response_iss_parameter_supported"] is True
        resource = (await client.get("/.well-known/oauth-protected-resource/mcp")).json()
        assert resource["authorization_servers"] == [server["issuer"]] == [issuer]
        preflight = await client.options("/oauth/token", headers={"access-control-request-method": "POST"})
        assert (preflight.status_code, preflight.headers["access-control-allow-origin"]) == (204, "*")
        assert "access-control-allow-credentials" not in preflight.headers


@pytest.mark.requirement("M3")
async def test_without_https_no_door_of_oauth_opens(database: TestDatabase, nats_server: Server, company: Company) -> None:
    """Outside this machine, with words that say what to set."""
    await provision(nats_server.url, ack_wait=1)
    async with compose(database, nats_server.url, [(Service.GATEWAY, make_gateway)], public_url="http://h.example") as running:
        client = Client(running.http)
        for response in (
            await client.register(),
            await client.post("/oauth/token", {"grant_type": "refresh_token"}),
            await Browser(running, None).get("/.well-known/oauth-protected-resource/mcp"),
            await Browser(running, None).get("/oauth/authorize?client_id=x"),
        ):
            assert (response.status_code, "ASKBUS_PUBLIC_URL" in response.text) == (503, True)


@pytest.mark.requirement("M3")
async def test_an_app_with_a_secret_proves_who_it_is(running: Composed, company: Company, pool: Pool) -> None:
    """In the header or in the body, in one place; no secret, a wrong one, another app's: 401, and the code is not touched."""
    client, mia = Client(running.http), Browser(running, company["mia"])
    await client.register(token_endpoint_auth_method=None)
    secret = client.told["client_secret"]
    assert (client.told["token_endpoint_auth_method"], client.told["client_secret_expires_at"]) == ("client_secret_basic", 0)
    assert await pool.fetchval("SELECT count(*) FROM oauth_clients c WHERE c::text LIKE '%' || $1 || '%'", secret) == 0
    code = await mia.code(client, company.north)
    for wrong in ({}, {"client_secret": "guess"}, {"client_secret": "guess\0"}):
        refused = await client.redeem(code, **wrong)
        assert (refused.status_code, refused.json()["error"]) in {(401, "invalid_client"), (400, "invalid_request")}
    said = {"grant_type": "authorization_code", "code": code, "code_verifier": client.verifier}
    async with httpx2.AsyncClient(base_url=running.http, auth=(client.id, "guess")) as other:
        refused = await other.post("/oauth/token", data=said)
        assert (refused.status_code, refused.headers["www-authenticate"]) == (401, 'Basic realm="askbus"')
    async with httpx2.AsyncClient(base_url=running.http, auth=(client.id, secret)) as itself:
        assert (await itself.post("/oauth/token", data={**said, "client_secret": secret})).status_code == 400
        tokens = await itself.post("/oauth/token", data=said)
        assert tokens.status_code == 200
    refreshed = await client.refresh(tokens.json()["refresh_token"], client_secret=secret)
    assert refreshed.status_code == 200
