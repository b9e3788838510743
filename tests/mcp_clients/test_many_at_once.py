"""A client that writes faster than anybody answers."""

import asyncio
import json

import pytest
from tests.mcp_clients.wire import started

from askbus.client.mcp.bridge import AT_ONCE

LINES = 40


@pytest.mark.requirement("M12")
async def test_many_lines_are_few_requests_at_once_and_no_wait_stands_behind_them() -> None:
    """The gateway hears of so many as it may, and of a wait for people beside them; in the end everybody is answered."""
    held = 0
    waits, go = asyncio.Event(), asyncio.Event()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        nonlocal held
        try:
            while head := (await reader.readuntil(b"\r\n\r\n")).decode():
                [length] = [line.split(":")[1] for line in head.splitlines() if line.lower().startswith("content-length")]
                asked = json.loads(await reader.readexactly(int(length)))
                if asked["method"] == "ping":
                    held += 1
                else:
                    waits.set()
                await go.wait()
                body = json.dumps({"jsonrpc": "2.0", "id": asked["id"], "result": {}})
                answer = f"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n{body}"
                writer.write(answer.encode())
        except asyncio.IncompleteReadError:
            writer.close()

    async with await asyncio.start_server(serve, "127.0.0.1", 0) as server:
        url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
        async with started(url, "askbus_x") as wire:
            asked = {wire.ask("ping") for _ in range(LINES)}
            asked.add(wire.call("get_question_answer", {"ids": ["x"], "wait_seconds": 600}))
            async with asyncio.timeout(30):
                await waits.wait()
            assert held <= AT_ONCE
            go.set()
            assert {(await wire.hear())["id"] for _ in asked} == asked
            assert held == LINES
            assert await wire.end() == 0
