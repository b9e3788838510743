"""Rights that end while a turn waits: it goes no further, and no model hears of it again."""

from collections.abc import AsyncIterator, Awaitable, Callable
from uuid import UUID

import pytest
from pydantic import JsonValue

from askbus.access import verbs as access
from askbus.access.model import Role
from askbus.bus.envelope import Service
from askbus.bus.provision import provision
from askbus.db.pool import Pool
from askbus.testing.composed import Composed, compose
from askbus.testing.model_process import ScriptedModel
from askbus.testing.people import Company
from askbus.testing.servers import Server, TestDatabase
from askbus.testing.waiting import until
from askbus_agent_loop.app import make_app as make_agent_loop
from askbus_gateway.app import make_app as make_gateway
from askbus_question_broker.app import make_app as make_broker
from askbus_tool_runner.app import make_app as make_tool_runner

QUESTION: JsonValue = {"name": "ask_user", "arguments": {"text": "Which one?"}}


@pytest.fixture
async def model() -> AsyncIterator[ScriptedModel]:
    """A model that asks the user something first."""
    async with ScriptedModel([{"steps": [{"tool_calls": [QUESTION]}, {"text": "That one, then."}]}]) as model:
        yield model


@pytest.fixture
async def chat(database: TestDatabase, nats_server: Server, company: Company, model: ScriptedModel) -> AsyncIterator[Composed]:
    """All that a turn with a question needs."""
    await provision(nats_server.url, ack_wait=1)
    services = [
        (Service.GATEWAY, make_gateway),
        (Service.AGENT_LOOP, make_agent_loop),
        (Service.TOOL_RUNNER, make_tool_runner),
        (Service.QUESTION_BROKER, make_broker),
    ]
    async with compose(database, nats_server.url, services, model_base_url=model.base_url) as running:
        yield running


async def leave_the_project(pool: Pool, company: Company) -> None:
    await access.remove_from_project(pool, company.workspace_id, company.north, company["mia"].id)


async def become_a_viewer(pool: Pool, company: Company) -> None:
    await access.set_member(pool, company.workspace_id, company["mia"].id, Role.VIEWER)


async def sign_out(pool: Pool, company: Company) -> None:
    await access.end_session(pool, company["mia"].principal)


@pytest.mark.requirement("I3")
@pytest.mark.parametrize("ends", [leave_the_project, become_a_viewer, sign_out])
async def test_a_turn_ends_with_the_rights_of_who_asked(
    chat: Composed, company: Company, pool: Pool, model: ScriptedModel, ends: Callable[[Pool, Company], Awaitable[None]]
) -> None:
    """Its question is settled later, by whatever: the turn wakes, finds that its user may not ask here any more, and fails."""
    async with chat.client(company["mia"]) as mia:
        thread = (await mia.post("/v1/threads", json={"project_id": str(company.north)})).json()
        turn = (await mia.post(f"/v1/threads/{thread['id']}/turns", json={"text": "change it"})).json()
        await until(lambda: in_state(pool, turn["id"], "waiting"))
        await ends(pool, company)
        await pool.execute("UPDATE questions SET state = 'expired', settled_at = now() WHERE turn_id = $1", UUID(turn["id"]))
        await until(lambda: in_state(pool, turn["id"], "failed"))
    assert await pool.fetchval("SELECT error_code FROM turns WHERE id = $1", UUID(turn["id"])) == "access_ended"
    assert len(await model.until("finished")) == 1


async def in_state(pool: Pool, turn_id: str, state: str) -> bool:
    return bool(await pool.fetchval("SELECT state::text FROM turns WHERE id = $1", UUID(turn_id)) == state)
