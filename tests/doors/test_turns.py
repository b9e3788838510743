"""Turns over HTTP, with a scripted model behind the real SDK."""

import json
from collections.abc import AsyncIterator
from typing import Any

import httpx2
import pytest

from askbus.bus.envelope import Service
from askbus.bus.provision import provision
from askbus.db.pool import Pool
from askbus.testing.composed import Composed, compose
from askbus.testing.model_process import ScriptedModel
from askbus.testing.people import Company
from askbus.testing.servers import Server, TestDatabase
from askbus_agent_loop.app import make_app as make_agent_loop
from askbus_gateway.app import make_app as make_gateway
from askbus_question_broker.app import make_app as make_broker

SCRIPT = [
    {"when": "hello", "steps": [{"text": "Hello to you. How are things?", "chunks": 6}]},
    {"when": "slowly", "steps": [{"text": "one two three four", "chunks": 4, "hold": "slow", "hold_after": 2}]},
    {"when": "broken", "steps": [{"error_status": 400, "error_message": "secret provider words"}]},
    {"when": "cut off", "steps": [{"text": "half of it", "chunks": 3, "cut": 2}]},
]


@pytest.fixture(scope="module")
async def model() -> AsyncIterator[ScriptedModel]:
    """The scripted model, in its own process."""
    async with ScriptedModel(SCRIPT) as model:
        yield model


@pytest.fixture
async def chat(
    database: TestDatabase, nats_server: Server, company: Company, model: ScriptedModel
) -> AsyncIterator[Composed]:
    """Gateway, agent-loop and question-broker."""
    await provision(nats_server.url, ack_wait=1)
    services = [
        (Service.GATEWAY, make_gateway),
        (Service.AGENT_LOOP, make_agent_loop),
        (Service.QUESTION_BROKER, make_broker),
    ]
    async with compose(database, nats_server.url, services, model_base_url=model.base_url) as running:
        yield running


async def thread(client: httpx2.AsyncClient, company: Company) -> str:
    made = await client.post("/v1/threads", json={"project_id": str(company.north)})
    assert made.status_code == 201, made.text
    return str(made.json()["id"])


async def events(response: httpx2.Response) -> AsyncIterator[tuple[str, str | None, Any]]:
    """The events of a stream: name, id and data."""
    name, event_id, data = "message", None, ""
    async for line in response.aiter_lines():
        if line.startswith("event: "):
            name = line[7:]
        elif line.startswith("id: "):
            event_id = line[4:]
        elif line.startswith("data: "):
            data = line[6:]
        elif not line and data:
            yield name, event_id, json.loads(data)
            name, event_id, data = "message", None, ""


@pytest.mark.requirement("C1", "C25")
async def test_a_message_is_answered_over_the_stream_that_sent_it(chat: Composed, company: Company) -> None:
    """Deltas as they come, then the stored answer, which is what the deltas said."""
    async with chat.client(company["mia"]) as mia:
        thread_id = await thread(mia, company)
        async with mia.stream(
            "POST", f"/v1/threads/{thread_id}/turns", json={"text": "hello"}, headers={"accept": "text/event-stream"}
        ) as response:
            assert response.status_code == 200
            seen = [event async for event in events(response)]
        said = "".join(data["text"] for name, _, data in seen if name == "delta")
        assert said == "Hello to you. How are things?"
        name, _, done = seen[-1]
        assert (name, done["state"], done["answer"]) == ("done", "completed", said)
        stored = (await mia.get(f"/v1/threads/{thread_id}")).json()
        assert [(m["role"], m["text"]) for m in stored["messages"]] == [("user", "hello"), ("assistant", said)]
        assert stored["title"] == "hello"
