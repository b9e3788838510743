"""A provider that stops sending in the middle of an answer, or never begins."""

from collections.abc import AsyncIterator

import pytest
from pydantic import JsonValue

from askbus.bus.envelope import Service
from askbus.bus.provision import provision
from askbus.testing.composed import Composed, compose
from askbus.testing.model_process import ScriptedModel
from askbus.testing.people import Company
from askbus.testing.servers import Server, TestDatabase
from askbus.testing.streams import events
from askbus_agent_loop.app import make_app as make_agent_loop
from askbus_gateway.app import make_app as make_gateway


@pytest.fixture
async def chat(database: TestDatabase, nats_server: Server, company: Company) -> AsyncIterator[Composed]:
    """Gateway and agent-loop, before a model that falls silent and that nobody waits for."""
    await provision(nats_server.url, ack_wait=1)
    script: list[JsonValue] = [
        {"when": "begin", "steps": [{"text": "word after word after word", "chunks": 5, "hang": 2}]},
        {"steps": [{"text": "never", "hang": 0}]},
    ]
    services = [(Service.GATEWAY, make_gateway), (Service.AGENT_LOOP, make_agent_loop)]
    async with (
        ScriptedModel(script) as model,
        compose(
            database, nats_server.url, services, model_base_url=model.base_url, model_silence=0.5, model_retries=1
        ) as running,
    ):
        yield running


@pytest.mark.requirement("C19", "C21")
@pytest.mark.parametrize(("text", "kept"), [("begin and stop", "word after"), ("say nothing", None)])
async def test_a_provider_that_stalls_fails_the_turn_with_its_code(
    chat: Composed, company: Company, text: str, kept: str | None
) -> None:
    """What was said stays, marked as cut; where nothing was, it was tried again first. The reader hears that nobody can act now."""
    async with chat.client(company["mia"]) as mia:
        thread = (await mia.post("/v1/threads", json={"project_id": str(company.north)})).json()
        turn = (await mia.post(f"/v1/threads/{thread['id']}/turns", json={"text": text})).json()
        async with mia.stream("GET", f"/v1/turns/{turn['id']}/events") as response:
            done = [event async for event in events(response)][-1].data
        assert (done["state"], done["error"]["code"], done["error"]["who"]) == ("failed", "model_unavailable", "nobody")
        assert (done["answer"], done["cut"]) == (kept, "failed" if kept else None)
