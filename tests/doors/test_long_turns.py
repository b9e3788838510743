"""A turn whose stream is longer than what one connection may have buffered."""

from collections.abc import AsyncIterator

import pytest

from askbus.bus.envelope import Service
from askbus.bus.provision import provision
from askbus.testing.composed import Composed, compose
from askbus.testing.model_process import ScriptedModel
from askbus.testing.people import Company
from askbus.testing.servers import Server, TestDatabase
from askbus.testing.streams import events
from askbus_agent_loop.app import make_app as make_agent_loop
from askbus_gateway.app import make_app as make_gateway

PARAGRAPH = "A sentence of some length, that says one thing and then another. " * 50
ANSWER = PARAGRAPH * 80


@pytest.fixture
async def model() -> AsyncIterator[ScriptedModel]:
    """A model with much to say, in large pieces."""
    async with ScriptedModel([{"steps": [{"text": ANSWER, "chunks": 400}]}]) as model:
        yield model


@pytest.fixture
async def chat(database: TestDatabase, nats_server: Server, company: Company, model: ScriptedModel) -> AsyncIterator[Composed]:
    """Gateway and agent-loop."""
    await provision(nats_server.url, ack_wait=1)
    services = [(Service.GATEWAY, make_gateway), (Service.AGENT_LOOP, make_agent_loop)]
    async with compose(database, nats_server.url, services, model_base_url=model.base_url) as running:
        yield running


@pytest.mark.requirement("S7")
async def test_a_long_answer_can_be_followed_from_its_beginning(chat: Composed, company: Company) -> None:
    """What is stored is one whole: a client that reads it is not taken for one that does not."""
    async with chat.client(company["mia"]) as mia:
        thread = (await mia.post("/v1/threads", json={"project_id": str(company.north)})).json()
        path = f"/v1/threads/{thread['id']}/turns"
        async with mia.stream("POST", path, json={"text": "tell me"}, headers={"accept": "text/event-stream"}) as live:
            seen = [event async for event in events(live)]
        assert seen[-1].name == "done"
        assert seen[-1].data["answer"] == ANSWER.strip() or seen[-1].data["answer"] == ANSWER
        async with mia.stream("GET", f"/v1/turns/{seen[-1].data['id']}/events") as again:
            late = [event async for event in events(again)]
    assert late[-1].name == "done"
    assert "".join(event.data["text"] for event in late if event.name == "delta") == seen[-1].data["answer"]
