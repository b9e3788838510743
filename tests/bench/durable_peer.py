"""A durable peer: the floor's loop as a DBOS workflow whose steps are kept in Postgres. What the user said, each model call and each tool
is recorded; the words reach the client straight from the process, as is kindest to it (its own durable stream writes a row for each).

Run as `python -m tests.bench.durable_peer http://127.0.0.1:8181/v1 postgresql://…/peer`.
"""

import asyncio
import sys
from typing import Any
from uuid import uuid4

import uvloop
from dbos import DBOS, SetWorkflowID
from openai import AsyncOpenAI
from tests.bench.answering import Emit, answer_with
from tests.bench.sdk_loop import call_model, conversation, run_tool

emitting: dict[str, Emit] = {}
"""Where a workflow's words go: no part of what is stored."""
clients: dict[str, AsyncOpenAI] = {}
"""By base URL."""


@DBOS.workflow()
async def turn(base_url: str, text: str) -> str | None:
    """One turn, taken up again after a crash at the first step that is not recorded."""
    client, messages = clients[base_url], conversation(text)
    workflow = str(DBOS.workflow_id)
    while True:

        async def model(messages: list[Any] = messages) -> dict[str, Any]:
            return await call_model(client, messages, emitting[workflow])

        said = await DBOS.run_step_async({"name": "model"}, model)
        messages = [*messages, said]
        if not (calls := said.get("tool_calls")):
            return str(said["content"])
        steps = [(DBOS.reserve_step(), call) for call in calls]
        messages += await asyncio.gather(*(step.run_async({"name": "tool"}, run_tool, call) for step, call in steps))


async def serve(base_url: str, database_url: str) -> None:
    """Runs a workflow for each request and answers when it has ended."""
    DBOS(config={"name": "peer", "system_database_url": database_url, "log_level": "ERROR"})
    DBOS.launch()
    clients[base_url] = AsyncOpenAI(base_url=base_url, api_key="none")

    async def run(text: str, emit: Emit) -> None:
        workflow = str(uuid4())
        emitting[workflow] = emit
        try:
            with SetWorkflowID(workflow):
                await turn(base_url, text)
        finally:
            del emitting[workflow]

    try:
        await answer_with(run)
    finally:
        DBOS.destroy()


if __name__ == "__main__":
    uvloop.run(serve(*sys.argv[1:3]))
