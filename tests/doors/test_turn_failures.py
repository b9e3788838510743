"""Turns whose step fails for a reason that is ours, each time it is tried."""

from collections.abc import AsyncIterator

import asyncpg
import pytest

from askbus.bus.envelope import Service
from askbus.bus.provision import provision
from askbus.bus.streams import DELIVERIES
from askbus.db.pool import Pool
from askbus.testing.composed import Composed, compose
from askbus.testing.model_process import ScriptedModel
from askbus.testing.people import Company
from askbus.testing.servers import Server, TestDatabase
from askbus.testing.waiting import until
from askbus.turns import verbs
from askbus_agent_loop.app import make_app as make_agent_loop
from askbus_gateway.app import make_app as make_gateway


@pytest.fixture
async def model() -> AsyncIterator[ScriptedModel]:
    """A model that answers at once."""
    async with ScriptedModel([{"steps": [{"text": "Hello to you."}]}]) as model:
        yield model


@pytest.fixture
async def chat(database: TestDatabase, nats_server: Server, company: Company, model: ScriptedModel) -> AsyncIterator[Composed]:
    """Gateway and agent-loop, whose sweep repeats no wake-up meanwhile."""
    await provision(nats_server.url, ack_wait=1)
    services = [(Service.GATEWAY, make_gateway), (Service.AGENT_LOOP, make_agent_loop)]
    async with compose(database, nats_server.url, services, model_base_url=model.base_url, stuck_after=60.0) as running:
        yield running


@pytest.mark.requirement("C2", "C4")
@pytest.mark.parametrize("poison", [RuntimeError("a defect"), asyncpg.DataError("no such number")], ids=["defect", "data"])
async def test_a_step_that_cannot_be_recorded_ends_its_turn_after_as_many_model_calls_as_deliveries(
    chat: Composed, company: Company, pool: Pool, monkeypatch: pytest.MonkeyPatch, poison: Exception
) -> None:
    """Each delivery is one try: none waits for the lease of the one before, and none counts as an outage that has to pass."""
    tries = 0

    async def fails(*_args: object, **_more: object) -> None:
        nonlocal tries
        tries += 1
        raise poison

    monkeypatch.setattr(verbs, "finish_model_step", fails)
    async with chat.client(company["mia"]) as mia:
        thread = (await mia.post("/v1/threads", json={"project_id": str(company.north)})).json()
        turn = (await mia.post(f"/v1/threads/{thread['id']}/turns", json={"text": "hello"})).json()

        async def over() -> bool:
            return bool((await mia.get(f"/v1/turns/{turn['id']}")).json()["state"] == "failed")

        await until(over, within=20)
        assert (await mia.get(f"/v1/turns/{turn['id']}")).json()["error_code"] == "internal"
    assert tries == DELIVERIES
