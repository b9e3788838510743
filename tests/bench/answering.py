"""The HTTP server of the floor and of the peer: each request is answered with the stream of a turn, over a raw socket that stays open."""

import asyncio
import json
from collections.abc import Awaitable, Callable

from tests.bench.program import until_parent_ends

HEAD = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n"

Emit = Callable[[str, object], None]
Turn = Callable[[str, Emit], Awaitable[None]]
"""Works on what the user said, and emits what it comes to on the way."""


async def answer_with(turn: Turn) -> None:
    """Serves until the parent ends."""

    async def connected(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while head := await _head(reader):
            [length] = [int(line[15:]) for line in head.split("\r\n") if line.startswith("content-length:")]
            body = json.loads(await reader.readexactly(length))
            writer.write(HEAD)

            def emit(event: str, data: object) -> None:
                frame = f"event: {event}\ndata: {json.dumps(data)}\n\n".encode()
                writer.write(f"{len(frame):x}\r\n".encode() + frame + b"\r\n")

            await turn(body["text"], emit)
            emit("done", {"state": "completed"})
            writer.write(b"0\r\n\r\n")
        writer.close()

    server = await asyncio.start_server(connected, "127.0.0.1", 0)
    await until_parent_ends({"port": server.sockets[0].getsockname()[1]})


async def _head(reader: asyncio.StreamReader) -> str:
    try:
        return (await reader.readuntil(b"\r\n\r\n")).decode().lower()
    except asyncio.IncompleteReadError:
        return ""
