"""The floor of a turn: the same loop straight on the openai SDK, nothing stored, streamed to the client over a raw socket.

Run as `python -m tests.bench.sdk_loop http://127.0.0.1:8181/v1`.
"""

import asyncio
import json
import sys
from collections.abc import Callable
from typing import Any

import uvloop
from openai import AsyncOpenAI
from tests.bench.program import until_parent_ends
from tests.bench.tool_runner import CONSTANT

from askbus.models.model import ModelRequest
from askbus.models.openai_history import request_body
from askbus_agent_loop.prompt import SYSTEM, definitions

MODEL = "scripted"
TOOLS: Any = request_body(ModelRequest(system="", messages=(), tools=definitions()), model=MODEL, maker="")["tools"]
"""The tools and the system text are ours, so that the model gets the same request."""

HEAD = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n"

Emit = Callable[[str, object], None]


class Turn:
    """One conversation in memory."""

    def __init__(self, client: AsyncOpenAI, text: str, emit: Emit) -> None:
        self.client = client
        self.emit = emit
        self.messages: Any = [{"role": "system", "content": SYSTEM}, {"role": "user", "content": text}]

    async def run(self) -> None:
        """Calls the model and its tools until it asks for none."""
        while calls := await self._call_model():
            results = await asyncio.gather(*(_tool(call["function"]["arguments"]) for call in calls))
            for call, result in zip(calls, results, strict=True):
                self.messages.append({"role": "tool", "tool_call_id": call["id"], "content": result})

    async def _call_model(self) -> list[dict[str, Any]]:
        text, calls = "", dict[int, dict[str, Any]]()
        stream = await self.client.chat.completions.create(
            model=MODEL, messages=self.messages, tools=TOOLS, stream=True, stream_options={"include_usage": True}
        )
        async for chunk in stream:
            for choice in chunk.choices:
                if choice.delta.content:
                    text += choice.delta.content
                    self.emit("delta", choice.delta.content)
                for piece in choice.delta.tool_calls or ():
                    function = {"name": "", "arguments": ""}
                    call = calls.setdefault(piece.index, {"id": piece.id, "type": "function", "function": function})
                    if piece.function is not None:
                        call["function"]["name"] += piece.function.name or ""
                        call["function"]["arguments"] += piece.function.arguments or ""
        message: dict[str, Any] = {"role": "assistant", "content": text or None}
        self.messages.append({**message, "tool_calls": list(calls.values())} if calls else message)
        return list(calls.values())


async def _tool(arguments: str) -> str:
    json.loads(arguments)
    return CONSTANT.model_dump_json()


async def serve(base_url: str) -> None:
    """Answers each request with the stream of a turn, on a connection that stays open."""
    client = AsyncOpenAI(base_url=base_url, api_key="none")

    async def connected(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while head := await _head(reader):
            [length] = [int(line[15:]) for line in head.split("\r\n") if line.startswith("content-length:")]
            body = json.loads(await reader.readexactly(length))
            writer.write(HEAD)

            def emit(event: str, data: object) -> None:
                frame = f"event: {event}\ndata: {json.dumps(data)}\n\n".encode()
                writer.write(f"{len(frame):x}\r\n".encode() + frame + b"\r\n")

            await Turn(client, body["text"], emit).run()
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


if __name__ == "__main__":
    uvloop.run(serve(sys.argv[1]))
