"""Providers that answer with secrets, addresses and stack traces: users are told a sentence of ours, whatever the wire and the fault."""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import httpx2
import nats
import pytest
from nats.aio.msg import Msg
from pydantic import JsonValue
from structlog.testing import capture_logs

from askbus.bus.envelope import Service
from askbus.bus.provision import provision
from askbus.db.pool import Pool
from askbus.testing.composed import Composed, compose
from askbus.testing.people import Company
from askbus.testing.servers import Server, TestDatabase
from askbus.testing.streams import events
from askbus.turns.model import ERRORS
from askbus_agent_loop.app import make_app as make_agent_loop
from askbus_gateway.app import make_app as make_gateway

KEY = "sk-planted-0123456789abcdef"
PLANTED = f"vault-4711 at https://internal.example/v1?key={KEY}"
TRACE = 'Traceback (most recent call last): File "/srv/model/engine.py", line 42'
BODY = {"message": f"{PLANTED} for {KEY}: {TRACE}", "type": "server_error"}
SECRETS = ("vault-4711", "internal.example", "sk-planted", "Traceback", "engine.py", "/srv/model")

ANSWERS: dict[str, tuple[int, str, bytes]] = {
    "refuses": (
        400,
        "application/json",
        json.dumps({"type": "error", "error": BODY | {"type": "invalid_request_error"}}).encode(),
    ),
    "knows me not": (
        401,
        "application/json",
        json.dumps({"type": "error", "error": BODY | {"type": "authentication_error"}}).encode(),
    ),
    "is poor": (402, "application/json", json.dumps({"type": "error", "error": BODY | {"type": "billing_error"}}).encode()),
    "is busy": (529, "application/json", json.dumps({"type": "error", "error": BODY | {"type": "overloaded_error"}}).encode()),
    "breaks": (500, "text/html", f"<html><body>{BODY['message']}</body></html>".encode()),
    "fails within": (
        200,
        "text/event-stream",
        b"event: error\ndata: " + json.dumps({"type": "error", "error": BODY}).encode() + b"\n\n",
    ),
    "babbles": (200, "text/event-stream", f"data: {BODY['message']}\n\n".encode()),
    "is no model": (200, "text/html", f"<html>{BODY['message']}</html>".encode()),
}
"""What the user says, and what the provider makes of it."""


@asynccontextmanager
async def provider() -> AsyncIterator[str]:
    """An endpoint that answers each request as its last message asks for, on either wire; its address."""

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = (await reader.readuntil(b"\r\n\r\n")).decode().lower()
        length = int(head.partition("content-length: ")[2].partition("\r\n")[0])
        said = (await reader.readexactly(length)).decode()
        status, kind, body = next(answer for words, answer in ANSWERS.items() if words in said)
        writer.write(
            f"HTTP/1.1 {status} No\r\nContent-Type: {kind}\r\nContent-Length: {len(body)}\r\nConnection: close\r\n"
            f"X-Request-Id: {SECRETS[0]}\r\n\r\n".encode()
            + body
        )
        await writer.drain()
        writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    async with server:
        yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/v1"


@pytest.fixture(params=["openai", "anthropic"])
async def chat(
    request: pytest.FixtureRequest, database: TestDatabase, nats_server: Server, company: Company
) -> AsyncIterator[Composed]:
    """Gateway and agent-loop before such a provider."""
    await provision(nats_server.url, ack_wait=1)
    services = [(Service.GATEWAY, make_gateway), (Service.AGENT_LOOP, make_agent_loop)]
    async with provider() as url:
        models = {"default": {"provider": request.param, "base_url": url, "api_key": KEY, "model": "planted"}}
        async with compose(database, nats_server.url, services, models=models, model_retries=0) as running:
            yield running


@asynccontextmanager
async def overheard(url: str) -> AsyncIterator[list[str]]:
    """Everything that goes over the bus meanwhile."""
    heard: list[str] = []

    async def hear(message: Msg) -> None:
        heard.append(f"{message.subject} {message.headers} {message.data!r}")

    nc = await nats.connect(url)
    await nc.subscribe(">", cb=hear)
    await nc.flush()
    yield heard
    await nc.close()


async def stored(pool: Pool) -> str:
    """Every row of every table of ours, as text."""
    tables = await pool.fetch(
        "SELECT relname FROM pg_class WHERE relnamespace = 'askbus'::regnamespace AND relkind IN ('r', 'p')"
    )
    rows = [await pool.fetch(f"SELECT t::text FROM askbus.{table['relname']} t") for table in tables]
    return "\n".join(row[0] for found in rows for row in found)


async def told(mia: httpx2.AsyncClient, thread: str, text: str) -> tuple[str, str]:
    """The code of the error that a message comes to, and everything that its user can get to see of it."""
    path, headers = f"/v1/threads/{thread}/turns", {"accept": "text/event-stream"}
    seen: list[str] = []
    turn: dict[str, JsonValue] = {}
    async with mia.stream("POST", path, json={"text": text}, headers=headers) as response:
        async for event in events(response):
            seen.append(str(event))
            if event.name == "done":
                turn = event.data
                break
    paths = (f"/v1/turns/{turn['id']}", f"/v1/threads/{thread}", "/v1/threads", "/v1/usage")
    seen += [(await mia.get(path)).text for path in paths]
    assert turn["state"] == "failed"
    assert turn["error"] == ERRORS[str(turn["error_code"])].model_dump()
    return str(turn["error_code"]), "\n".join(seen)


@pytest.mark.requirement("C21")
async def test_nothing_of_what_a_provider_says_of_its_failure_is_told_stored_or_sent(
    chat: Composed, company: Company, pool: Pool, nats_server: Server
) -> None:
    """In no answer, no stream, no row, no message of the bus; the log has it, without the key."""
    codes: dict[str, str] = {}
    with capture_logs() as lines:
        async with overheard(nats_server.url) as heard, chat.client(company["mia"]) as mia:
            for words in ANSWERS:
                thread = str((await mia.post("/v1/threads", json={"project_id": str(company.north)})).json()["id"])
                codes[words], seen = await told(mia, thread, f"it {words}")
                assert not [secret for secret in SECRETS if secret in seen], words
    kept = await stored(pool)
    assert "it refuses" in kept
    assert heard
    assert not [secret for secret in SECRETS if secret in kept]
    assert not [secret for secret in SECRETS if any(secret in message for message in heard)]
    refused = {words for words, code in codes.items() if code == "model_refused"}
    assert refused == {"refuses", "knows me not", "is poor"}
    assert {code for words, code in codes.items() if words not in refused} == {"model_unavailable"}
    logged = json.dumps(lines, default=repr)
    assert "vault-4711" in logged
    assert "sk-planted" not in logged
