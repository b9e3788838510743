"""Speaking MCP: by hand, one POST at a time, and by the official client."""

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any, Literal

import httpx2
from mcp.client import Client
from mcp.client.streamable_http import streamable_http_client

from askbus.db.pool import Pool
from askbus.testing.composed import Composed
from askbus.testing.people import Agent, Company
from askbus.testing.records import TeamDatabase

MODERN = "2026-07-28"
LEGACY = "2025-11-25"
OLDEST = "2025-03-26"
META = "io.modelcontextprotocol/"


@dataclass(frozen=True)
class Stage:
    """What the tests of this folder share: the services that the tools need, over one company and its shop."""

    running: Composed
    company: Company
    pool: Pool
    shop: TeamDatabase

    @property
    def url(self) -> str:
        return f"{self.running.http}/mcp"


def said(method: str, params: Mapping[str, Any] | None = None, *, revision: str = MODERN, **meta: Any) -> Any:
    """A request and its headers, as a client of the revision sends them."""
    headers = {"accept": "application/json, text/event-stream"}
    given: dict[str, Any] = dict(params or {})
    if revision == MODERN:
        meta = {f"{META}protocolVersion": revision, f"{META}clientCapabilities": {}, **meta}
        headers |= {"mcp-method": method}
        if method == "tools/call":
            headers |= {"mcp-name": str(given.get("name"))}
    if revision != OLDEST:
        headers |= {"mcp-protocol-version": revision}
    if meta:
        given["_meta"] = meta
    return {"json": {"jsonrpc": "2.0", "id": 1, "method": method, "params": given}, "headers": headers}


async def ask(client: httpx2.AsyncClient, method: str, params: Mapping[str, Any] | None = None, **how: Any) -> httpx2.Response:
    return await client.post("/mcp", **said(method, params, **how))


async def call(client: httpx2.AsyncClient, tool: str, arguments: Mapping[str, Any] | None = None, **how: Any) -> Any:
    """The result of a call that is no error of the protocol."""
    response = await ask(client, "tools/call", {"name": tool, "arguments": dict(arguments or {})}, **how)
    assert response.status_code == 200, response.text
    return response.json()["result"]


def error_of(response: httpx2.Response) -> tuple[int, int]:
    """The status and the code of an error."""
    return response.status_code, response.json()["error"]["code"]


@asynccontextmanager
async def official(stage: Stage, agent: Agent, mode: Literal["legacy", "auto"] = "auto", **how: Any) -> AsyncIterator[Client]:
    """The official Python client, connected."""
    headers = {"authorization": f"Bearer {agent.token}"}
    async with (
        httpx2.AsyncClient(headers=headers, timeout=30) as http,
        Client(streamable_http_client(stage.url, http_client=http), mode=mode, **how) as client,
    ):
        yield client
