"""Facts that wake a turn which is at work already."""

from collections.abc import AsyncIterator
from uuid import UUID

import pytest

from askbus.bus.connection import Connection, connect
from askbus.bus.envelope import Service
from askbus.bus.fact import Fact
from askbus.bus.provision import provision
from askbus.bus.publisher import publish_facts
from askbus.bus.streams import FACTS
from askbus.testing.composed import Composed, compose
from askbus.testing.model_process import ScriptedModel
from askbus.testing.people import Company
from askbus.testing.servers import Server, TestDatabase
from askbus.testing.waiting import until
from askbus_agent_loop.app import make_app as make_agent_loop
from askbus_gateway.app import make_app as make_gateway


@pytest.fixture
async def model() -> AsyncIterator[ScriptedModel]:
    """A model that begins and then waits."""
    async with ScriptedModel([{"steps": [{"text": "one two", "chunks": 2, "hold": "middle", "hold_after": 1}]}]) as model:
        yield model


@pytest.fixture
async def chat(database: TestDatabase, nats_server: Server, company: Company, model: ScriptedModel) -> AsyncIterator[Composed]:
    """Gateway and agent-loop."""
    await provision(nats_server.url, ack_wait=1)
    services = [(Service.GATEWAY, make_gateway), (Service.AGENT_LOOP, make_agent_loop)]
    async with compose(database, nats_server.url, services, model_base_url=model.base_url) as running:
        yield running


@pytest.fixture
async def bus(nats_server: Server) -> AsyncIterator[Connection]:
    """A connection to look at the queue, and to put something into it."""
    nc = await connect(nats_server.url, "test")
    yield nc
    await nc.close()


async def test_a_wake_up_for_a_turn_that_this_process_works_on_is_settled_at_once(
    chat: Composed, company: Company, model: ScriptedModel, bus: Connection
) -> None:
    """Two tools end together and wake the turn twice: the second finds the model being asked, and does not come back for its lease."""
    async with chat.client(company["mia"]) as mia:
        thread = (await mia.post("/v1/threads", json={"project_id": str(company.north)})).json()
        turn = (await mia.post(f"/v1/threads/{thread['id']}/turns", json={"text": "begin"})).json()
    await model.until("held")
    again = Fact(
        fact="turn.queued",
        entity="turn",
        entity_id=UUID(turn["id"]),
        status="running",
        workspace_id=company.workspace_id,
        project_id=company.north,
    )
    await publish_facts(bus.jetstream(), [again])

    async def only_the_first_is_open() -> bool:
        consumer = await bus.jsm().consumer_info(FACTS, Service.AGENT_LOOP.value)
        assert consumer.delivered is not None
        return (consumer.delivered.consumer_seq, consumer.num_ack_pending) == (2, 1)

    await until(only_the_first_is_open, within=3)
    await model.release("middle")
    assert len(await model.until("finished")) == 1
