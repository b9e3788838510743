"""Who gets through the MCP door, and what the others are told: handed cases, browsers, and other names of this machine."""

import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import httpx2
import pytest
from tests.doors.over_mcp.talk import OLDEST, Stage, ask, call, error_of, said

from askbus.access import verbs as access
from askbus.access.model import Scope
from askbus.bus.envelope import Service
from askbus.bus.provision import provision
from askbus.db.pool import Pool
from askbus.testing.apps import connect as connect_app
from askbus.testing.apps import register_app
from askbus.testing.composed import Composed, compose
from askbus.testing.people import Agent, Company, give_token
from askbus.testing.questions import open_question
from askbus.testing.servers import Server, TestDatabase
from askbus_gateway.app import make_app as make_gateway

CASES = Path(__file__).parents[2] / "cases" / "mcp"


def handed(name: str) -> Any:
    return json.loads((CASES / f"{name}.json").read_text())


@pytest.fixture
async def away(database: TestDatabase, nats_server: Server, company: Company) -> AsyncIterator[Composed]:
    """A gateway that is reached at https://h.example, by whatever name its Host says."""
    await provision(nats_server.url, ack_wait=1)
    services = [(Service.GATEWAY, make_gateway)]
    async with compose(database, nats_server.url, services, public_url="https://h.example", command_patience=0) as running:
        yield running


def named(response: httpx2.Response, header: str) -> set[str]:
    """The names in a header's list, in lower case."""
    return {name.strip().lower() for name in response.headers.get(header, "").split(",")}


@pytest.mark.requirement("M2", "I1")
async def test_who_comes_without_credentials_is_told_where_they_are_had(away: Composed) -> None:
    """M01: the challenge names the metadata by the configured address, whatever the Host says; nothing is wrong yet, so no error."""
    [first, *_] = handed("M01")["requests"]
    wanted = first["header"]["WWW-Authenticate"].partition(', scope="')[0]
    async with away.client() as client:
        response = await client.post("/mcp", **said("tools/list"))
        assert response.status_code == first["status"]
        challenge = response.headers["www-authenticate"]
        assert challenge.startswith(f'{wanted}, scope="data:read ')
        assert "error=" not in challenge
        forged = await client.post("/mcp", json={}, headers={"host": "evil.example"})
        assert forged.headers["www-authenticate"] == challenge


@pytest.mark.requirement("M2", "I3", "I6")
async def test_tokens_that_do_not_count_are_refused(away: Composed, company: Company, pool: Pool) -> None:
    """M05: expired, revoked, made up, in the address, a session's cookie: 401, and what was sent is named as wrong."""
    expired, revoked = [await give_token(pool, company["mia"]) for _ in range(2)]
    await pool.execute("UPDATE tokens SET expires_at = now() WHERE id = $1", expired.id)
    await access.revoke_token(pool, company["mia"].principal, revoked.id)
    cases = {case["token"]: case for case in handed("M05")["cases"]}
    tokens = {"expired": expired.token, "revoked": revoked.token, "garbage": "garbage"}
    async with away.client() as client:
        for name, token in tokens.items():
            sent = said("tools/list")
            response = await client.post(
                "/mcp", json=sent["json"], headers={**sent["headers"], "authorization": f"Bearer {token}"}
            )
            assert response.status_code == cases[name]["status"] == 401
            assert 'error="invalid_token"' in response.headers["www-authenticate"]
        valid = await give_token(pool, company["mia"])
        response = await client.post("/mcp", **said("tools/list"), params={"access_token": valid.token})
        assert response.status_code == cases["in ?access_token="]["status"]
    async with away.client(company["mia"]) as browser:
        assert (await browser.post("/mcp", **said("tools/list"))).status_code == 401


@pytest.mark.requirement("M2", "M3", "M5")
async def test_an_apps_access_token_opens_this_door_for_its_audience(stage: Stage) -> None:
    """It acts within what the person granted; M05: expired, or issued for another audience, it is 401 and named as wrong."""
    app = await register_app(stage.pool)
    scopes, projects = (Scope.DATA_READ, Scope.QUESTIONS_ASK), (stage.company.north,)
    issued = await connect_app(stage.pool, stage.company["mia"], app.client, scopes=scopes, projects=projects)
    async with stage.running.client() as client:
        client.headers["authorization"] = f"Bearer {issued.access_token}"
        listed = (await ask(client, "tools/list")).json()["result"]["tools"]
        assert {tool["name"] for tool in listed} >= {"query_records", "ask_user_question"}
        assert "propose_changes" not in {tool["name"] for tool in listed}
        asked = await call(client, "ask_user_question", {"text": "From an app?"})
        assert asked["structuredContent"]["questions"][0]["project_id"] == str(stage.company.north)
        assert (await client.get("/v1/me")).status_code == 401
        await access.remove_from_project(stage.pool, stage.company.workspace_id, stage.company.north, stage.company["mia"].id)
        lost = await call(client, "search_workspace")
        assert lost["structuredContent"]["projects"] == []
        await access.add_to_project(stage.pool, stage.company.workspace_id, stage.company.north, stage.company["mia"].id)
        for column in ("resource = 'http://localhost/other'", "resource = 'http://localhost/mcp', expires_at = now()"):
            await stage.pool.execute(f"UPDATE oauth_access_tokens SET {column}")
            response = await ask(client, "tools/list")
            assert response.status_code == 401
            assert 'error="invalid_token"' in response.headers["www-authenticate"]


@pytest.mark.requirement("M5")
async def test_an_admin_lets_no_agent_in_over_mcp(away: Composed, company: Company, pool: Pool) -> None:
    """Switched off, whatever token comes is refused, from the next request on; REST goes on."""
    agent = await give_token(pool, company["mia"])
    async with away.client(agent) as client:
        assert (await ask(client, "tools/list")).status_code == 200
        await pool.execute("UPDATE workspaces SET mcp = false WHERE id = $1", company.workspace_id)
        response = await ask(client, "tools/list")
        assert (response.status_code, response.json()["code"]) == (403, "permission_denied")
        assert (await client.get("/v1/me")).status_code == 200


@pytest.mark.requirement("M2", "M6")
async def test_a_token_sees_and_calls_what_its_scopes_allow(stage: Stage) -> None:
    """M05: a reader's list has no tool that asks or proposes; calling one is 403 with the scope that it lacks, in either era."""
    [case] = [case for case in handed("M05")["cases"] if case["token"] == "read scope, calls a write tool"]
    reader = await give_token(stage.pool, stage.company["mia"], (Scope.DATA_READ,))
    async with stage.running.client(reader) as client:
        for revision in ("2026-07-28", "2025-11-25"):
            listed = (await ask(client, "tools/list", revision=revision)).json()["result"]["tools"]
            assert {tool["name"] for tool in listed} & {"ask_user_question", "propose_changes", "cancel_question"} == set()
            assert "query_records" in {tool["name"] for tool in listed}
            params = {"name": "ask_user_question", "arguments": {"text": "Well?"}}
            response = await ask(client, "tools/call", params, revision=revision)
            assert response.status_code == case["status"] == 403
            challenge = response.headers["www-authenticate"]
            assert 'error="insufficient_scope", scope="questions:ask", resource_metadata="' in challenge


@pytest.mark.requirement("M2", "Q9", "I4")
async def test_what_no_grant_would_change_is_a_failure_of_the_tool(stage: Stage) -> None:
    """A viewer may not ask, whatever the token: 403 would send the client for a token that cannot exist."""
    token = await give_token(stage.pool, stage.company["viewer"])
    async with stage.running.client(token) as client:
        result = await call(client, "ask_user_question", {"text": "Well?"})
        assert (result["isError"], json.loads(result["content"][0]["text"])["code"]) == (True, "permission_denied")


@pytest.mark.requirement("M2", "M5", "I3", "I6")
async def test_a_row_that_is_lost_is_no_error_of_http(stage: Stage, agent: Agent) -> None:
    """M05: whoever lost access to a question gets a result that says it is not there, as for an id that never was."""
    [case] = [case for case in handed("M05")["cases"] if case["token"] == "valid, user lost access to the row"]
    hidden = await open_question(stage.pool, stage.company["owner"].principal, stage.company.south)
    async with stage.running.client(agent) as client:
        response = await ask(client, "tools/call", {"name": "get_question_answer", "arguments": {"ids": [str(hidden.id)]}})
        assert response.status_code == case["status"]
        result = response.json()["result"]
        assert (result["isError"], json.loads(result["content"][0]["text"])["code"]) == (True, "not_found")
        made_up = await call(client, "get_question_answer", {"ids": [str(stage.company.south)]})
        assert made_up["content"] == result["content"]


@pytest.mark.requirement("M1")
async def test_browsers_may_ask_from_anywhere_and_read_the_refusal(away: Composed) -> None:
    """M07: the preflight needs no token and names every header of the protocol; the 401 can be read; cookies are never invited."""
    preflight, refused, _metadata = handed("M07")["requests"]
    async with away.client() as client:
        response = await client.request("OPTIONS", "/mcp", headers=preflight["headers"])
        assert response.status_code in preflight["status"]
        assert set(preflight["allow_headers_include"]) <= named(response, "access-control-allow-headers")
        assert {name.lower() for name in preflight["allow_methods_include"]} <= named(response, "access-control-allow-methods")
        answer = await client.post("/mcp", json={}, headers=refused["headers"])
        assert answer.status_code == refused["status"]
        assert {name.lower() for name in refused["expose_headers_include"]} <= named(answer, "access-control-expose-headers")
        for one in (response, answer):
            assert one.headers["access-control-allow-origin"] == "*"
            assert "access-control-allow-credentials" not in one.headers


@pytest.mark.requirement("I8")
async def test_who_knocks_too_often_is_told_when_to_come_back(
    database: TestDatabase, nats_server: Server, company: Company, pool: Pool
) -> None:
    """Each token for itself: 429, and the seconds. A batch counts as many as it has messages."""
    await provision(nats_server.url, ack_wait=1)
    busy, other, batching = [await give_token(pool, company["mia"]) for _ in range(3)]
    services = [(Service.GATEWAY, make_gateway)]
    async with (
        compose(database, nats_server.url, services, limit_mcp=3) as running,
        running.client(busy) as client,
        running.client(other) as calm,
        running.client(batching) as batches,
    ):
        responses = [await ask(client, "tools/list") for _ in range(4)]
        assert [response.status_code for response in responses] == [200, 200, 200, 429]
        assert 0 < int(responses[3].headers["retry-after"]) <= 60
        assert responses[3].json()["code"] == "rate_limited"
        assert (await ask(calm, "tools/list")).status_code == 200
        pings = [{"jsonrpc": "2.0", "id": number, "method": "ping"} for number in range(2)]
        assert [(await batches.post("/mcp", json=pings)).status_code for _ in range(2)] == [200, 429]


@pytest.mark.requirement("M1", "I12")
async def test_what_is_no_request_is_refused_before_it_is_read(stage: Stage, agent: Agent) -> None:
    """Other methods, other names of this machine, other types, too much, too deep, no JSON, a batch where there are none."""
    sent = said("tools/list")
    async with stage.running.client(agent) as client:
        for method in ("GET", "DELETE", "PUT"):
            response = await client.request(method, "/mcp")
            assert (response.status_code, response.headers["allow"]) == (405, "POST, OPTIONS")
        for name in (
            {"host": "evil.example"},
            {"host": "["},
            {"origin": "https://evil.example"},
            {"origin": "http://[::1"},
            {"origin": "null"},
        ):
            response = await client.post("/mcp", json=sent["json"], headers={**sent["headers"], **name})
            assert (response.status_code, response.json()["code"]) == (403, "permission_denied")
        response = await client.post("/mcp", json=sent["json"], headers={**sent["headers"], "origin": "http://localhost:6274"})
        assert response.status_code == 200
        plain = await client.post("/mcp", content=b"{}", headers={**sent["headers"], "content-type": "text/plain"})
        assert plain.status_code == 415
        json_ = {**sent["headers"], "content-type": "application/json"}
        assert (await client.post("/mcp", content=b" " * (1 << 20) + b"{}", headers=json_)).status_code == 413
        for body in (b"{", b"", b"[" * 40 + b"]" * 40, b'{"a": NaN}', b'{"a": "\\u0000"}', b"\xff"):
            assert error_of(await client.post("/mcp", content=body, headers=json_)) == (400, -32700)
        assert error_of(await client.post("/mcp", content=b"[]", headers=json_)) == (400, -32600)
        assert (await client.post("/mcp/", **sent)).status_code == 404, "a token is never led to another address"


@pytest.mark.requirement("M1")
async def test_the_one_revision_that_has_batches_gets_them(stage: Stage, agent: Agent) -> None:
    """Each message for itself, in order; notifications alone are accepted with nothing."""
    ping: dict[str, Any] = {"jsonrpc": "2.0", "id": "a", "method": "ping"}
    note = {"jsonrpc": "2.0", "method": "notifications/initialized"}
    async with stage.running.client(agent) as client:
        response = await client.post("/mcp", json=[ping, note, {**ping, "id": 2, "method": "no/such"}, 7])
        assert [(one["id"], one.get("error", {}).get("code")) for one in response.json()] == [
            ("a", None),
            (2, -32601),
            (None, -32600),
        ]
        accepted = await client.post("/mcp", json=[note])
        assert (accepted.status_code, accepted.content) == (202, b"")
        asker = await give_token(stage.pool, stage.company["mia"], (Scope.QUESTIONS_ASK,))
    async with stage.running.client(asker) as client:
        asks = said("tools/call", {"name": "ask_user_question", "arguments": {"text": "Begun?"}}, revision=OLDEST)["json"]
        reads = said("tools/call", {"name": "query_records", "arguments": {}}, revision=OLDEST)["json"]
        assert (await client.post("/mcp", json=[asks, reads])).status_code == 403
        listed = await call(client, "list_open_questions")
        assert listed["structuredContent"]["questions"] == [], "none of a refused batch has begun"
