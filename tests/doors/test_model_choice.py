"""Which model answers: the workspace's choice, on either wire, with a fallback, and without tool messages."""

from collections.abc import AsyncIterator
from typing import Any
from uuid import UUID

import pytest
from pydantic import JsonValue
from tests.models.wire_rules import check_anthropic, check_openai, inner, listed

from askbus.bus.envelope import Service
from askbus.bus.provision import provision
from askbus.db.pool import Pool
from askbus.models.config import ModelConfig
from askbus.stack.ports import free_port
from askbus.testing.anthropic_wire import SIGNATURE
from askbus.testing.composed import Composed, compose
from askbus.testing.model_process import ScriptedModel
from askbus.testing.people import Company
from askbus.testing.records import TeamDatabase
from askbus.testing.servers import Server, TestDatabase
from askbus.testing.streams import events
from askbus_agent_loop.app import make_app as make_agent_loop
from askbus_gateway.app import make_app as make_gateway
from askbus_tool_runner.app import make_app as make_tool_runner

COUNT: dict[str, JsonValue] = {"aggregates": [{"op": "count", "as": "count"}]}
SCRIPT: list[JsonValue] = [
    {
        "when": "how many",
        "steps": [
            {
                "thinking": "what nobody may read",
                "text": "Let me count. ",
                "tool_calls": [
                    {"name": "query_records", "arguments": {"collection": name, **COUNT}} for name in ("orders", "customers")
                ],
            },
            {"text": "I counted."},
        ],
    },
    {"when": "ponder", "steps": [{"text": "<think>what nobody may read</think>Because.", "chunks": 9}]},
]
SERVICES = [(Service.GATEWAY, make_gateway), (Service.AGENT_LOOP, make_agent_loop), (Service.TOOL_RUNNER, make_tool_runner)]


@pytest.fixture
async def model() -> AsyncIterator[ScriptedModel]:
    """The scripted model, which speaks both wires."""
    async with ScriptedModel(SCRIPT) as model:
        yield model


@pytest.fixture
async def chat(
    database: TestDatabase, nats_server: Server, company: Company, model: ScriptedModel, shop: TeamDatabase
) -> AsyncIterator[Composed]:
    """Gateway, agent-loop and tool-runner, with several models to choose from."""
    await provision(nats_server.url, ack_wait=1)
    models = {
        "claude": {"provider": "anthropic", "base_url": model.base_url, "model": "claude-m"},
        "away": {"base_url": f"http://127.0.0.1:{free_port()}/v1", "model": "away-m", "fallback": "claude"},
        "plain": {"base_url": model.base_url, "model": "plain-m", "tool_messages": False},
    }
    given = {"models": models, "model_base_url": model.base_url, "model_retries": 0, "records_url": shop.url}
    async with compose(database, nats_server.url, SERVICES, **given) as running:
        yield running


async def turn_with(
    chat: Composed,
    company: Company,
    pool: Pool,
    name: str | None,
    *,
    text: str = "how many are there?",
    thread_id: str | None = None,
) -> Any:
    """A turn of a workspace that chose this model, in this thread or a new one, once it is over; `streamed` is what was shown."""
    await pool.execute("UPDATE workspaces SET model = $2 WHERE id = $1", company.workspace_id, name)
    async with chat.client(company["mia"]) as mia:
        if thread_id is None:
            thread_id = (await mia.post("/v1/threads", json={"project_id": str(company.north)})).json()["id"]
        async with mia.stream(
            "POST", f"/v1/threads/{thread_id}/turns", json={"text": text}, headers={"accept": "text/event-stream"}
        ) as response:
            assert response.status_code == 200
            seen = [event async for event in events(response)]
    return {**seen[-1].data, "streamed": "".join(str(event.data) for event in seen)}


@pytest.mark.requirement("C11", "C12", "C15", "C16", "C17", "C18")
async def test_a_turn_with_two_parallel_tools_runs_over_anthropics_wire(
    chat: Composed, company: Company, pool: Pool, model: ScriptedModel
) -> None:
    """Streamed, both tools at once, both results in one user message, and the answer is stored with the model's name."""
    done = await turn_with(chat, company, pool, "claude")
    assert (done["state"], done["answer"], done["model"]) == ("completed", "I counted.", "scripted on messages")
    first, second = [inner(request.body) for request in await model.requests()]
    for body in (first, second):
        check_anthropic(body, ModelConfig(model="claude-m"))
    assert (first["model"], first["thinking"]) == ("claude-m", {"type": "adaptive"})
    results = listed(listed(second["messages"])[-1]["content"])
    assert [(block["type"], "is_error" in block) for block in results] == [("tool_result", False)] * 2
    assert listed(second["tools"]) == listed(first["tools"])
    assert second["system"] == first["system"]
    thought = {"type": "thinking", "thinking": "what nobody may read", "signature": SIGNATURE}
    assert listed(listed(second["messages"])[-2]["content"])[0] == thought
    assert "nobody may read" not in done["streamed"]
    # The thread goes on with another model on the other wire, whose inline thoughts nobody sees.
    after = await turn_with(chat, company, pool, None, text="ponder that", thread_id=done["thread_id"])
    assert (after["state"], after["answer"], after["model"]) == ("completed", "Because.", "scripted")
    assert "nobody may read" not in after["streamed"]
    body = inner((await model.requests())[-1].body)
    check_openai(body, ModelConfig(model="gpt-5"))
    roles = [message["role"] for message in listed(body["messages"])]
    assert "nobody may read" not in str(body)
    assert roles == ["system", "user", "assistant", "tool", "tool", "assistant", "user"]
    stored = await pool.fetch(
        "SELECT m.text, m.provider_data FROM messages m WHERE m.turn_id = $1 AND m.role = 'assistant'", UUID(after["id"])
    )
    assert [row["text"] for row in stored] == ["Because."]
    assert stored[0]["provider_data"]["data"] == {"inline_reasoning": "what nobody may read"}


@pytest.mark.requirement("C19", "C28")
async def test_the_fallback_answers_when_the_chosen_model_is_away_and_the_message_names_it(
    chat: Composed, company: Company, pool: Pool, model: ScriptedModel
) -> None:
    """Nothing was said before, so nobody notices but the log and the message's model."""
    done = await turn_with(chat, company, pool, "away")
    assert (done["state"], done["answer"], done["model"]) == ("completed", "I counted.", "scripted on messages")
    assert {str(inner(request.body)["model"]) for request in await model.requests()} == {"claude-m"}


@pytest.mark.requirement("C33")
async def test_a_turn_with_tools_runs_over_an_endpoint_without_tool_messages(
    chat: Composed, company: Company, pool: Pool, model: ScriptedModel
) -> None:
    """Calls and results reach the model as quoted text; for the person nothing is different."""
    done = await turn_with(chat, company, pool, "plain")
    assert (done["state"], done["answer"]) == ("completed", "I counted.")
    body = inner((await model.requests())[-1].body)
    check_openai(body, ModelConfig(model="plain-m", tool_messages=False))
    assert "Result of query_records" in str(listed(body["messages"])[-1]["content"])
    assert "tool_calls" not in str(body["messages"])


@pytest.mark.requirement("C15", "C21")
async def test_a_model_that_is_not_set_up_fails_the_turn_with_a_code_for_admins(
    chat: Composed, company: Company, pool: Pool, model: ScriptedModel
) -> None:
    """At once, without asking any model, and the next turn works once an admin has chosen another."""
    failed = await turn_with(chat, company, pool, "gone")
    assert (failed["state"], failed["error"]["code"], failed["error"]["who"]) == ("failed", "model_not_configured", "admin")
    assert await model.requests() == []
    assert (await turn_with(chat, company, pool, "claude"))["state"] == "completed"
