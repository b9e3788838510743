"""`askbus mcp` as a process of its own, spoken to line by line."""

import asyncio
import json
import os
import sys
from asyncio.subprocess import PIPE, Process
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

RUN = "import askbus.cli; askbus.cli.main()"
SOON = 60
"""Seconds: what takes so long on a machine that does much else, hangs."""
GREETING = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "tests", "version": "1"}}
META = "io.modelcontextprotocol/"


def environment(url: str, token: str) -> dict[str, str]:
    return {"ASKBUS_URL": url, "ASKBUS_TOKEN": token, "PYTHONPATH": os.pathsep.join(sys.path)}


class Wire:
    """The process and its three streams."""

    def __init__(self, process: Process, token: str) -> None:
        assert process.stdin is not None
        assert process.stdout is not None
        assert process.stderr is not None
        self.process, self.token = process, token
        self.stdin, self.stdout, self.stderr = process.stdin, process.stdout, process.stderr
        self._last = 0

    def write(self, data: bytes) -> None:
        self.stdin.write(data)

    def ask(self, method: str, params: dict[str, Any] | None = None, **meta: Any) -> int:
        """Sends a request, and returns its id."""
        self._last += 1
        said = {**(params or {}), **({"_meta": meta} if meta else {})}
        self.write(json.dumps({"jsonrpc": "2.0", "id": self._last, "method": method, "params": said}).encode() + b"\n")
        return self._last

    def call(self, tool: str, arguments: dict[str, Any], **meta: Any) -> int:
        return self.ask("tools/call", {"name": tool, "arguments": arguments}, **meta)

    def notify(self, method: str, params: dict[str, Any]) -> None:
        self.write(json.dumps({"jsonrpc": "2.0", "method": method, "params": params}).encode() + b"\r\n")

    async def hear(self) -> Any:
        """The next message."""
        async with asyncio.timeout(SOON):
            line = await self.stdout.readline()
        assert line.endswith(b"\n"), await self.said()
        return json.loads(line)

    async def said(self) -> str:
        """What it wrote to standard error, which never holds the token."""
        async with asyncio.timeout(SOON):
            said = (await self.stderr.read()).decode()
        assert self.token not in said
        return said

    async def end(self) -> int:
        """Closes its input, and returns its exit code."""
        self.stdin.close()
        async with asyncio.timeout(SOON):
            return await self.process.wait()


@asynccontextmanager
async def started(url: str, token: str, *words: str) -> AsyncIterator[Wire]:
    """The process, which is over at the end whatever happens."""
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        "-c",
        RUN,
        "mcp",
        *words,
        env=environment(url, token),
        stdin=PIPE,
        stdout=PIPE,
        stderr=PIPE,
        limit=1 << 24,
    )
    try:
        yield Wire(process, token)
    finally:
        if process.returncode is None:
            process.kill()
        await process.wait()


def question(message: Any) -> Any:
    """The one question that an answer tells of."""
    assert "isError" not in message["result"], message
    [found] = message["result"]["structuredContent"]["questions"]
    return found
