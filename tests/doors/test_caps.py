"""What each route of the gateway, those of tomorrow too, does with requests that are too large, too deep, compressed or no JSON."""

import asyncio
import gzip
import json
import re
from collections.abc import AsyncIterator, Sequence
from typing import Any

import httpx2
import pytest
from starlette.routing import BaseRoute, Route
from structlog.testing import capture_logs

from askbus.bus.connection import connect
from askbus.bus.envelope import Service
from askbus.bus.provision import provision
from askbus.bus.subjects import agent_inbox, agent_request
from askbus.db.pool import Pool
from askbus.incoming import DEEPEST_JSON, LARGEST_BODY
from askbus.runtime.health import LARGEST_HEAD, Asgi
from askbus.testing.composed import Composed, compose
from askbus.testing.people import Company, give_token
from askbus.testing.servers import Server, TestDatabase
from askbus_gateway import app
from askbus_gateway.frontends.desk import LARGEST_BODY as LARGEST_CONVERSATION
from askbus_gateway.http.api import make_api
from askbus_gateway.http.described import DescribedRoute

pytestmark = pytest.mark.requirement("I12")

ROOMY = {
    "/v1/projects/{id}/ag-ui": LARGEST_CONVERSATION,
    "/v1/projects/{id}/chat": LARGEST_CONVERSATION,
    "/v1/attachments": 20 << 20,
}
"""The routes that take more than a megabyte: whole conversations, and files."""

HOSTILE = [
    b"\xff\xfe",
    b"\xef\xbb\xbf{}",
    b'{"a": 1e999999}',
    b'{"a": -1e999999, "a": NaN}',
    b'{"a": ' + b"9" * 50_000 + b"}",
    b'{"\\ud800": "\\udfff"}',
    b'{"a\\u0000": "\\u0000"}',
    b"[" * 100_000,
    b'{"a":' * (DEEPEST_JSON + 1) + b"1" + b"}" * (DEEPEST_JSON + 1),
    b'{"id": "x", "id": {"id": []}}',
    gzip.compress(b"{}"),
]


HOSTILE_PATHS = (
    "/%00", "/v1/questions/%00", "/v1/tools/%00", "/v1/questions/%ff%fe", "/v1/threads/search?q=%00", "/v1/questions?limit=1e999999",
)  # fmt: skip


def calls(routes: list[Route], some_id: object) -> list[tuple[str, str]]:
    """Each method of each route, with this where it wants an id or a name."""
    return [
        (method, re.sub(r"{[^}]+}", str(some_id), route.path))
        for route in routes
        for method in sorted((route.methods or {"GET"}) - {"HEAD"})
    ]


def takes_body(route: Route) -> bool:
    return isinstance(route, DescribedRoute) and route.description.body is not None


@pytest.fixture
def routes(monkeypatch: pytest.MonkeyPatch) -> list[Route]:
    """The routes of the gateway that starts next."""
    found: list[Route] = []

    def kept(given: Sequence[BaseRoute]) -> Asgi:
        found.extend(route for route in given if isinstance(route, Route))
        return make_api(given)

    monkeypatch.setattr(app, "make_api", kept)
    return found


@pytest.fixture
async def gateway(routes: list[Route], database: TestDatabase, nats_server: Server, company: Company) -> AsyncIterator[Composed]:
    """The gateway alone, without limits: the first bad word is for it to refuse."""
    await provision(nats_server.url, ack_wait=1)
    off: dict[str, object] = {"limit_chat": 0, "limit_ask": 0, "limit_tools": 0, "limit_sign_in_address": 0}
    async with compose(database, nats_server.url, [(Service.GATEWAY, app.make_app)], command_patience=0, **off) as running:
        yield running


async def raw(client: httpx2.AsyncClient, head: str, body: bytes = b"") -> tuple[int, bytes]:
    """The status and the body of the answer to a request as it stands here."""
    reader, writer = await asyncio.open_connection(client.base_url.host, client.base_url.port)
    try:
        writer.write(head.encode() + body)
        answer = await asyncio.wait_for(reader.readuntil(b"\r\n\r\n"), 30)
        length = next(line for line in answer.lower().split(b"\r\n") if line.startswith(b"content-length:"))
        return int(answer.split(b" ")[1]), await reader.readexactly(int(length.split(b":")[1]))
    finally:
        writer.close()


async def test_every_route_refuses_what_is_too_large_before_it_comes(
    gateway: Composed, routes: list[Route], company: Company
) -> None:
    """Whoever announces more than the route takes, is told so before a byte of it was sent: also where no body is wanted at all, where
    nobody is signed in, and where there is no route."""
    assert ROOMY.keys() < {route.path for route in routes}
    async with gateway.client(company["owner"]) as client:
        cookie = f"askbus_session={company['owner'].cookie}"
        for route in [*routes, Route("/v1/nothing/here", lambda _: None)]:
            most = ROOMY.get(route.path, LARGEST_BODY)
            for method, path in calls([route], company.north):
                head = f"{method} {path} HTTP/1.1\r\nHost: x\r\nCookie: {cookie}\r\nContent-Type: application/json\r\n"
                scope = "?name=x.csv&project_id=" + str(company.north) if route.path == "/v1/attachments" else ""
                head = head.replace(path, path + scope, 1)
                status, said = await raw(client, f"{head}Content-Length: {most + 1}\r\n\r\n")
                assert (status, json.loads(said)["code"]) == (413, "too_large"), (method, path, said)


async def test_every_route_refuses_what_is_compressed(gateway: Composed, routes: list[Route], company: Company) -> None:
    """Nobody unfolds anything, so there is no bomb."""
    bomb = gzip.compress(b'{"text": "' + b"x" * (4 << 20) + b'"}')
    async with gateway.client(company["owner"]) as client:
        for method, path in calls(routes, company.north):
            headers = {"content-encoding": "gzip", "content-type": "application/json"}
            refused = await client.request(method, path, content=bomb, headers=headers)
            assert (refused.status_code, refused.json()["code"]) == (400, "invalid_input"), (method, path)
        for encoding in ("br", "identity, gzip", "GZIP", "x"):
            headers = {"content-encoding": encoding, "content-type": "application/json"}
            assert (await client.post("/v1/questions", content=bomb, headers=headers)).status_code == 400
        plain = await client.post("/v1/questions", json={}, headers={"content-encoding": "identity"})
        assert "project_id" in plain.json()["message"]


async def test_no_route_fails_on_what_is_no_json_or_hostile(gateway: Composed, routes: list[Route], company: Company) -> None:
    """Whatever the body: an error of whoever sent it, and in chunks, too, no more of it than the cap."""
    async with gateway.client(company["owner"]) as client:
        for route in routes:
            for method, path in calls([route], company.north):
                if not takes_body(route):
                    continue
                for data in HOSTILE:
                    headers = {"content-type": "application/json"}
                    refused = await client.request(method, path, content=data, headers=headers)
                    assert 400 <= refused.status_code < 500, (method, path, data[:40], refused.text)
                    assert refused.json().keys() == {"code", "message", "details"}


async def test_no_chunk_beyond_the_cap_is_taken(gateway: Composed, routes: list[Route], company: Company) -> None:
    """Of a body that announces no size."""

    async def chunks() -> AsyncIterator[bytes]:
        for _ in range(LARGEST_BODY // 65536 + 1):
            yield b" " * 65536

    async with gateway.client(company["owner"]) as client:
        for route in routes:
            for method, path in calls([route], company.north):
                if takes_body(route) and route.path not in ROOMY:
                    headers = {"content-type": "application/json"}
                    refused = await client.request(method, path, content=chunks(), headers=headers)
                    assert refused.status_code in {404, 413}, (method, path, refused.text)


async def test_an_address_and_headers_have_a_cap(gateway: Composed, routes: list[Route], company: Company) -> None:
    """Told in the usual shape, however they come; what is just within is looked at; and hostile texts in paths and queries are refused."""
    long = "x" * (LARGEST_HEAD + 1)
    many = "".join(f"x-{n}: {'y' * 1000}\r\n" for n in range(70))
    async with gateway.client(company["owner"]) as client:
        for head in (
            f"GET /v1/me?{long} HTTP/1.1\r\nHost: x\r\n\r\n",
            f"GET /v1/me HTTP/1.1\r\nHost: x\r\nCookie: {long}\r\n\r\n",
            f"GET /v1/me HTTP/1.1\r\nHost: x\r\n{many}\r\n",
            f"GET /v1/me HTTP/1.1\r\nHost: x\r\nX: {long * 8}",
            f"GET /{long * 8}",
        ):
            status, said = await raw(client, head)
            assert (status, json.loads(said)["code"]) == (400, "invalid_input"), head[:40]
        assert (await client.get("/v1/me", headers={"x-long": "y" * 60_000})).status_code == 200
        for path in HOSTILE_PATHS:
            assert 400 <= (await client.get(path)).status_code < 500, path
        for route in routes:
            for method, path in calls([route], "%00%ff"):
                if "{" in route.path and route.path.startswith("/v1/"):
                    refused = await client.request(method, path, json={})
                    assert 400 <= refused.status_code < 500, (method, path, refused.text)
                headers = {b"idempotency-key": b"\xe9", b"last-event-id": b"\xff", b"if-none-match": b"\xff"}
                named = await client.request(method, path, headers=headers, json={})
                assert named.status_code not in {500, 504}, (method, path, named.text)


async def test_the_doors_on_the_bus_refuse_alike(questions: Composed, nats_server: Server, company: Company, pool: Pool) -> None:
    """An agent's request that is too deep, no JSON, or holds what nobody can store: a typed error, and no defect in the log."""
    agent = await give_token(pool, company["mia"])
    nc = await connect(nats_server.url, "agent", agent_inbox(agent.id))
    try:
        with capture_logs() as logs:
            for data in [*HOSTILE, b"", b"null", b'{"ask": ' + b"[" * 60 + b"]" * 60 + b"}"]:
                for verb in ("ask", "ask_many", "get", "list", "cancel", "untold", "heard"):
                    reply: Any = json.loads((await nc.request(agent_request(agent.id, "question", verb), data, timeout=10)).data)
                    assert reply["error"]["code"] == "invalid_input", (verb, data[:40], reply)
            large = b'{"ask": "' + b"x" * (LARGEST_BODY - 20) + b'" }'
            reply = json.loads((await nc.request(agent_request(agent.id, "question", "ask"), large, timeout=10)).data)
            assert reply["error"]["code"] == "invalid_input"
        assert [line for line in logs if line["log_level"] == "error"] == []
    finally:
        await nc.close()
