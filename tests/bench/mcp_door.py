"""What a call over MCP costs the gateway, beside JSON endpoints in the same process: one that does nothing but know its caller and answer
the same bytes, and the route of the REST API that shows the same question."""

import asyncio
import json
import tempfile
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from time import monotonic, process_time
from typing import Any
from unittest.mock import patch
from uuid import UUID

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route
from tests.bench.report import Measure

from askbus.access.model import Principal
from askbus.access.reads import principal_of_token
from askbus.access.tool_calls import audit_tool_call
from askbus.bus.envelope import Service
from askbus.bus.provision import provision
from askbus.db.ids import new_id
from askbus.db.migrate import migrate
from askbus.db.pool import Pool, open_pool
from askbus.questions import reads
from askbus.runtime.health import Asgi
from askbus.testing.composed import compose
from askbus.testing.people import found_company, give_token
from askbus.testing.questions import open_question
from askbus.testing.servers import SECRET, TestDatabase, administer, on_database, run_nats, run_postgres
from askbus_gateway import app as gateway
from askbus_gateway.http.api import make_api
from askbus_gateway.http.gate import present
from askbus_gateway.http.waiting import Asked

SLOWEST = 1 / 0.7
"""Of the floor's CPU: at least 0.7 of its calls a second."""
ROUNDS = 5
LONGEST = 2.0
"""Seconds for one round of one kind: many of these calls commit a line of the audit log, and where others use the disk too they take many
times the CPU that is measured. Then fewer are made."""

Sent = tuple[str, str, bytes, Mapping[str, str]]
"""A request: method, path, body, headers."""


class Client:
    """Calls an application without sockets, so that only what it does itself is counted."""

    def __init__(self, app: Asgi, token: str) -> None:
        self.app = app
        self.token = token

    async def call(self, method: str, path: str, body: bytes, headers: Mapping[str, str]) -> bytes:
        given = {
            "host": "localhost",
            "authorization": f"Bearer {self.token}",
            "content-type": "application/json",
            "content-length": str(len(body)),
            **headers,
        }
        scope = {
            "type": "http",
            "asgi": {"version": "3.0", "spec_version": "2.3"},
            "http_version": "1.1",
            "method": method,
            "path": path,
            "raw_path": path.encode(),
            "root_path": "",
            "scheme": "http",
            "query_string": b"",
            "headers": [(name.encode(), value.encode()) for name, value in given.items()],
            "client": ("127.0.0.1", 1),
            "server": ("127.0.0.1", 80),
        }
        messages = [{"type": "http.request", "body": body, "more_body": False}]
        said = bytearray()
        status = 0

        async def receive() -> dict[str, Any]:
            if not messages:
                await asyncio.Event().wait()  # the client stays until it has its answer
            return messages.pop()

        async def send(message: dict[str, Any]) -> None:
            nonlocal status
            status = message.get("status", status)
            said.extend(message.get("body", b""))

        await self.app(scope, receive, send)
        if status != 200:
            raise RuntimeError(f"{path} answered {status}: {said[:200]!r}")
        return bytes(said)

    async def cpu_ms(self, sent: Sent, count: int) -> float:
        """CPU of this process for one of `count` calls, or of as many as are done in time."""
        began, until, done = process_time(), monotonic() + LONGEST, 0
        while done < count and (done == 0 or monotonic() < until):
            await self.call(*sent)
            done += 1
        return 1000 * (process_time() - began) / done


def over_mcp(method: str, params: Mapping[str, object]) -> Sent:
    meta = {"io.modelcontextprotocol/protocolVersion": "2026-07-28", "io.modelcontextprotocol/clientCapabilities": {}}
    body = {"jsonrpc": "2.0", "id": 1, "method": method, "params": {**params, "_meta": meta}}
    headers = {"mcp-protocol-version": "2026-07-28", "mcp-method": method, "accept": "application/json, text/event-stream"}
    if "name" in params:
        headers["mcp-name"] = str(params["name"])
    return "POST", "/mcp", json.dumps(body).encode(), headers


class Bare:
    """Endpoints that do the same work and speak no protocol."""

    def __init__(self, pool: Pool) -> None:
        self.pool = pool
        self.listed = b""

    async def _by(self, request: Request) -> Principal:
        by = await principal_of_token(self.pool, request.headers["authorization"][7:])
        assert by is not None
        return by

    async def list(self, request: Request) -> Response:
        """What `tools/list` answers."""
        await self._by(request)
        json.loads(await request.body())
        return Response(self.listed, media_type="application/json")

    async def get(self, request: Request) -> Response:
        """The question that `get_question_answer` was asked for, with its line in the audit log."""
        by = await self._by(request)
        wanted = json.loads(await request.body())["params"]["arguments"]["ids"][0]
        await audit_tool_call(self.pool, by, "bare", new_id())
        return present(Asked.of(await reads.get(self.pool, by, UUID(wanted))))

    def app(self, routes: Sequence[BaseRoute]) -> Asgi:
        """The gateway's routes and these."""
        return make_api(
            [*routes, Route("/bare/list", self.list, methods=["POST"]), Route("/bare/get", self.get, methods=["POST"])]
        )


@asynccontextmanager
async def gateway_and_bare(folder: Path) -> AsyncIterator[tuple[Client, Bare, str]]:
    """A client of a gateway that has those endpoints too, and the id of a question."""
    async with run_postgres(folder) as postgres, run_nats(folder) as nats:
        await administer(postgres.url, "CREATE DATABASE bench")
        database = TestDatabase(on_database(postgres.url, "bench"))
        await migrate(database.url, SECRET)
        await provision(nats.url, ack_wait=1)
        async with open_pool(database.url, size=2, name="bench") as pool:
            company = await found_company(pool)
            agent = await give_token(pool, company["mia"])
            question = await open_question(pool, company["mia"].principal, company.north)
            bare, made = Bare(pool), {}

            def kept(routes: Sequence[BaseRoute]) -> Asgi:
                made["app"] = bare.app(routes)
                return made["app"]

            services = [(Service.GATEWAY, gateway.make_app)]
            with patch.object(gateway, "make_api", kept):
                async with compose(database, nats.url, services, limit_mcp=0, trace_ratio=0.05, log_level="error"):
                    yield Client(made["app"], agent.token), bare, str(question.id)


async def measures(count: int) -> list[Measure]:
    """`count` calls of each kind, in rounds that take turns; of each kind the quickest round. On a busy machine it ends with fewer."""
    with tempfile.TemporaryDirectory(prefix="askbus-bench-") as folder:
        async with gateway_and_bare(Path(folder)) as (client, bare, question_id):
            tools = over_mcp("tools/list", {})
            bare.listed = await client.call(*tools)
            get = over_mcp("tools/call", {"name": "get_question_answer", "arguments": {"ids": [question_id]}})
            kinds: dict[str, Sent] = {
                "list": tools,
                "bare list": ("POST", "/bare/list", tools[2], {}),
                "get": get,
                "bare get": ("POST", "/bare/get", get[2], {}),
                "rest": ("GET", f"/v1/questions/{question_id}", b"", {}),
            }
            rounds = [{kind: await client.cpu_ms(sent, count // ROUNDS) for kind, sent in kinds.items()} for _ in range(ROUNDS)]
    best = {kind: min(done[kind] for done in rounds) for kind in kinds}
    return [
        Measure("tools/list, beside a bare endpoint", "ms", best["list"], best["bare list"], most_ratio=SLOWEST),
        Measure(
            "get_question_answer, beside a bare endpoint with the same read and audit; peer: the REST route",
            "ms",
            best["get"],
            best["bare get"],
            best["rest"],
            most_ratio=SLOWEST,
        ),
    ]
