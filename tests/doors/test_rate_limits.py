"""How often somebody may ask, chat, call tools and try to sign in: counted by all gateways and the bus together, refused alike by all."""

import json
from collections.abc import AsyncIterator
from dataclasses import replace
from typing import Any
from uuid import uuid4

import httpx2
import pytest

from askbus.access import verbs
from askbus.bus.connection import connect
from askbus.bus.envelope import Service
from askbus.bus.provision import provision
from askbus.bus.subjects import agent_inbox, agent_request
from askbus.db.ids import new_id
from askbus.db.pool import Pool
from askbus.testing.composed import Composed, compose
from askbus.testing.people import Company, give_token
from askbus.testing.servers import Server, TestDatabase
from askbus_agent_loop.app import make_app as make_agent_loop
from askbus_gateway.app import make_app as make_gateway
from askbus_question_broker.app import make_app as make_broker

pytestmark = pytest.mark.requirement("I8")

LIMITS = {"limit_chat": 3, "limit_ask": 4, "limit_tools": 2, "limit_sign_in_address": 2}
SERVICES = [
    (Service.GATEWAY, make_gateway),
    (Service.GATEWAY, make_gateway),
    (Service.QUESTION_BROKER, make_broker),
    (Service.AGENT_LOOP, make_agent_loop),
]


@pytest.fixture
async def limited(database: TestDatabase, nats_server: Server, company: Company) -> AsyncIterator[Composed]:
    """Two gateways, behind a proxy on this machine, with small limits; nobody runs tools or models."""
    await provision(nats_server.url, ack_wait=1)
    given: dict[str, object] = {**LIMITS, "trusted_proxies": "127.0.0.1", "command_patience": 0}
    async with compose(database, nats_server.url, SERVICES, **given) as running:
        yield running


def refused(response: httpx2.Response, limit: str) -> int:
    """After how many seconds it is worth while to come back."""
    body: Any = response.json()
    assert (response.status_code, body["code"], body["details"]["limit"]) == (429, "rate_limited", limit), response.text
    assert body.keys() == {"code", "message", "details"}
    assert response.headers["retry-after"] == str(body["details"]["retry_after"])
    return int(response.headers["retry-after"])


async def test_questions_are_counted_by_both_gateways_and_the_bus_together(
    limited: Composed, nats_server: Server, company: Company, pool: Pool
) -> None:
    """One of each gateway, a set of two, then no more by any door; another token of the same person has its own count."""
    agent = await give_token(pool, company["mia"])
    ask = {"project_id": str(company.north), "text": "Ship it?"}
    async with limited.client(agent) as one, limited.client(agent, gateway=1) as other:
        for robot in (one, other):
            assert (await robot.post("/v1/questions", json=ask)).status_code == 201
        assert (await other.post("/v1/questions/batch", json={"questions": [ask, ask]})).status_code == 201
        for robot in (one, other):
            assert 1 <= refused(await robot.post("/v1/questions", json=ask), "ask") <= 15
        refused(await one.post("/v1/questions/batch", json={"questions": [ask]}), "ask")
        assert (await one.get("/v1/questions")).status_code == 200
    nc = await connect(nats_server.url, "agent", agent_inbox(agent.id))
    try:
        for verb, said in (
            ("ask", {"question_id": new_id(), "ask": ask}),
            ("ask_many", {"set_id": new_id(), "said": {"questions": [ask]}}),
        ):
            data = json.dumps(said, default=str).encode()
            reply = json.loads((await nc.request(agent_request(agent.id, "question", verb), data, timeout=10)).data)
            assert reply["error"]["code"] == "rate_limited"
            assert 1 <= reply["error"]["details"]["retry_after"] <= 15
    finally:
        await nc.close()
    assert await pool.fetchval("SELECT count(*) FROM questions") == 4
    async with limited.client(await give_token(pool, company["mia"])) as sibling:
        assert (await sibling.post("/v1/questions", json=ask)).status_code == 201


async def test_messages_are_counted_by_all_doors_of_chats_together(limited: Composed, company: Company, pool: Pool) -> None:
    """Our own door, AG-UI's and the AI SDK's, whichever gateway; refused before any stream begins, though one was asked for."""
    async with limited.client(company["mia"]) as one, limited.client(company["mia"], gateway=1) as other:
        thread = (await one.post("/v1/threads", json={"project_id": str(company.north)})).json()["id"]
        assert (await one.post(f"/v1/threads/{thread}/turns", json={"text": "hello"})).status_code == 201
        for left in (2, 1):
            assert (await other.post(f"/v1/threads/{thread}/turns", json={"text": f"and {left}"})).status_code == 201
        turns = await pool.fetchval("SELECT count(*) FROM turns")
        message = {"id": "m", "role": "user", "content": "hello", "parts": [{"type": "text", "text": "hello"}]}
        accept = {"accept": "text/event-stream"}
        project = f"/v1/projects/{company.north}"
        agui = {"threadId": "t", "runId": "r", "messages": [message]}
        for client in (one, other):
            refused(await client.post(f"/v1/threads/{thread}/turns", json={"text": "no"}, headers=accept), "chat")
            refused(await client.post(f"{project}/ag-ui", json=agui, headers=accept), "chat")
            refused(await client.post(f"{project}/chat", json={"id": "c", "messages": [message]}, headers=accept), "chat")
            refused(await client.post(f"/v1/turns/{uuid4()}/retry", json={}), "chat")
            again = {"id": thread, "messages": [], "trigger": "regenerate-message"}
            refused(await client.post(f"{project}/chat", json=again), "chat")
        assert await pool.fetchval("SELECT count(*) FROM turns") == turns == 3
        joined = await one.post(f"{project}/ag-ui", json={**agui, "messages": []})
        assert joined.status_code == 200


async def test_a_person_s_browsers_count_together(limited: Composed, company: Company, pool: Pool) -> None:
    """Signing in anew gives no new permits; another person has their own. What nobody answers counts too."""
    ask = {"project_id": str(company.north), "arguments": {}}
    code = await verbs.create_login_code(pool, company.workspace_id, company["mia"].id)
    again = replace(company["mia"], cookie=(await verbs.sign_in(pool, code)).cookie)
    async with limited.client(company["mia"]) as mia, limited.client(again) as new, limited.client(company["max"]) as max_:
        name = next(iter((await mia.get("/v1/tools")).json()["paths"])).rpartition("/")[2]
        for browser in (mia, new):
            assert (await browser.post(f"/v1/tools/{name}", json=ask)).status_code == 503
        refused(await new.post(f"/v1/tools/{name}", json=ask), "tools")
        assert (await max_.post(f"/v1/tools/{name}", json=ask)).status_code == 503
    keys = await pool.fetch("SELECT DISTINCT key FROM rate_limits WHERE bucket = 'tools'")
    assert len(keys) == 2


async def test_tries_to_sign_in_are_counted_by_address(limited: Composed) -> None:
    """By what the trusted proxy saw, whatever the client put before it; and a body is not even read of whoever tries too often."""
    async with limited.client() as one, limited.client(gateway=1) as other:
        for client in (one, other):
            headers = {"x-forwarded-for": f"203.0.113.{uuid4().int % 250}, 198.51.100.7"}
            assert (await client.post("/v1/session", json={"code": "guess"}, headers=headers)).status_code == 401
        for claimed in ("198.51.100.7", "1.2.3.4, 198.51.100.7", "127.0.0.1,198.51.100.7"):
            tried = await one.post("/v1/session", content="{", headers={"x-forwarded-for": claimed, "x-askbus": "1"})
            assert refused(tried, "sign_in_address") > 60
        for path in ("look-at", "accept"):
            headers = {"x-forwarded-for": "198.51.100.7"}
            tried = await other.post(f"/v1/invitations/{path}", json={"code": "guess"}, headers=headers)
            assert refused(tried, "sign_in_address") > 60
        elsewhere = {"x-forwarded-for": "198.51.100.8", "forwarded": "for=198.51.100.7"}
        assert (await one.post("/v1/session", json={"code": "guess"}, headers=elsewhere)).status_code == 401
