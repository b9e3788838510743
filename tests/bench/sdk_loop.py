"""The floor of a turn: the same loop straight on the openai SDK, nothing stored, streamed to the client over a raw socket.

Run as `python -m tests.bench.sdk_loop http://127.0.0.1:8181/v1`.
"""

import asyncio
import json
import sys
from typing import Any

import uvloop
from openai import AsyncOpenAI
from tests.bench.answering import Emit, answer_with
from tests.bench.tool_runner import CONSTANT

from askbus.models.config import ModelConfig
from askbus.models.model import ModelRequest
from askbus.models.openai_history import request_body
from askbus.tools.catalogue import CATALOGUE
from askbus_agent_loop.prompt import SYSTEM, definitions

MODEL = "scripted"
TOOLS: Any = request_body(ModelRequest(system="", messages=(), tools=definitions(CATALOGUE)), ModelConfig(model=MODEL), maker="")[
    "tools"
]
"""The tools and the system text are ours, so that the model gets the same request."""


def conversation(text: str) -> list[Any]:
    """What is said to the model first."""
    return [{"role": "system", "content": SYSTEM}, {"role": "user", "content": text}]


async def call_model(client: AsyncOpenAI, messages: list[Any], emit: Emit) -> dict[str, Any]:
    """The model's message, its text emitted on the way."""
    text, calls = "", dict[int, dict[str, Any]]()
    stream = await client.chat.completions.create(
        model=MODEL, messages=messages, tools=TOOLS, stream=True, stream_options={"include_usage": True}
    )
    async for chunk in stream:
        for choice in chunk.choices:
            if choice.delta.content:
                text += choice.delta.content
                emit("delta", choice.delta.content)
            for piece in choice.delta.tool_calls or ():
                function = {"name": "", "arguments": ""}
                call = calls.setdefault(piece.index, {"id": piece.id, "type": "function", "function": function})
                if piece.function is not None:
                    call["function"]["name"] += piece.function.name or ""
                    call["function"]["arguments"] += piece.function.arguments or ""
    message: dict[str, Any] = {"role": "assistant", "content": text or None}
    return {**message, "tool_calls": list(calls.values())} if calls else message


async def run_tool(call: dict[str, Any]) -> dict[str, Any]:
    """The message that a call's result is."""
    json.loads(call["function"]["arguments"])
    return {"role": "tool", "tool_call_id": call["id"], "content": CONSTANT.model_dump_json()}


async def serve(base_url: str) -> None:
    """Calls the model and its tools until it asks for none, for each request."""
    client = AsyncOpenAI(base_url=base_url, api_key="none")

    async def turn(text: str, emit: Emit) -> None:
        messages = conversation(text)
        while True:
            said = await call_model(client, messages, emit)
            messages.append(said)
            if not (calls := said.get("tool_calls")):
                return
            messages += await asyncio.gather(*(run_tool(call) for call in calls))

    await answer_with(turn)


if __name__ == "__main__":
    uvloop.run(serve(sys.argv[1]))
