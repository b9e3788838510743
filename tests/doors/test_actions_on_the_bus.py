"""Actions of agents that are on the bus themselves and have no database: proposing, reading, hearing what became of it."""

import asyncio
import json
from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import Any
from uuid import UUID, uuid4

import pytest

from askbus.access.verbs import revoke_token
from askbus.actions import verbs
from askbus.bus import subjects
from askbus.bus.connection import Connection, connect
from askbus.bus.envelope import Reply
from askbus.db.pool import Pool
from askbus.records.changes import PreparedAction
from askbus.testing.actions import NEW, confirmed, email_of, prepared_action, propose_command, proposed, update
from askbus.testing.composed import Composed
from askbus.testing.people import Agent, Company, give_token
from askbus.testing.records import TeamDatabase
from askbus.testing.servers import Server


@dataclass
class OnTheBus:
    """An agent with its connection, as the client library has it."""

    agent: Agent
    nc: Connection

    async def ask(self, verb: str, **body: object) -> Any:
        """What the door answers; the error's code where it refuses."""
        message = await self.nc.request(
            subjects.agent_request(self.agent.id, "action", verb), json.dumps(body).encode(), timeout=10
        )
        reply = Reply.model_validate_json(message.data)
        return reply.ok if reply.error is None else reply.error.code


@pytest.fixture
async def robot(actions: Composed, nats_server: Server, company: Company, pool: Pool) -> AsyncIterator[OnTheBus]:
    """Mia's agent, connected with an inbox of its own."""
    agent = await give_token(pool, company["mia"])
    nc = await connect(nats_server.url, "agent", subjects.agent_inbox(agent.id))
    try:
        yield OnTheBus(agent, nc)
    finally:
        await nc.close()


def proposal(company: Company) -> dict[str, object]:
    return {"project_id": str(company.north), "operations": [update({"email": NEW})]}


@pytest.mark.requirement("R22", "Q7")
async def test_an_agent_on_the_bus_proposes_and_hears_what_became_of_it(
    robot: OnTheBus, actions: Composed, company: Company, shop: TeamDatabase
) -> None:
    """A wake-up on its own subject, and an outcome that stays untold until it says that it has heard it."""
    woken: asyncio.Queue[tuple[str, bytes]] = asyncio.Queue()

    async def wake(message: Any) -> None:
        await woken.put((message.subject, message.data))

    await robot.nc.subscribe(f"told.{robot.agent.id}.>", cb=wake)
    await robot.nc.flush()
    action_id = str(uuid4())
    action = await robot.ask("propose", action_id=action_id, proposal=proposal(company))
    assert (action["id"], action["state"]) == (action_id, "pending")
    assert (await robot.ask("propose", action_id=action_id, proposal=proposal(company)))["id"] == action_id
    assert (await robot.ask("untold"))["told"] == []
    async with actions.client(company["max"]) as max_:
        await confirmed(max_, action)
    async with asyncio.timeout(10):
        assert await woken.get() == (f"told.{robot.agent.id}.{action_id}", b"applied")
    (told,) = (await robot.ask("untold"))["told"]
    assert (told["action"]["id"], told["action"]["state"], told["untold"]) == (action_id, "applied", 1)
    outcome = (await robot.ask("get", action_id=action_id))["outcome"]
    assert outcome["records"][0]["after"] == {"email": NEW}
    await robot.ask("heard", action_id=action_id, heard=1)
    assert (await robot.ask("untold"))["told"] == []
    assert await email_of(shop) == NEW


@pytest.mark.requirement("R22", "I3")
async def test_an_agent_on_the_bus_sees_and_withdraws_its_own_actions_alone(
    robot: OnTheBus, actions: Composed, company: Company
) -> None:
    """What its owner proposed is not the agent's; what it withdrew is withdrawn."""
    async with actions.client(company["mia"]) as mia:
        foreign = await proposed(mia, company)
    own = await robot.ask("propose", action_id=str(uuid4()), proposal=proposal(company))
    assert [action["id"] for action in (await robot.ask("list"))["actions"]] == [own["id"]]
    assert await robot.ask("get", action_id=foreign["id"]) == "not_found"
    assert await robot.ask("withdraw", action_id=foreign["id"]) == "permission_denied"
    assert (await robot.ask("withdraw", action_id=own["id"]))["state"] == "withdrawn"
    assert await robot.ask("withdraw", action_id=str(uuid4())) == "not_found"


@pytest.mark.requirement("I3")
async def test_a_revoked_token_has_no_door(robot: OnTheBus, company: Company, pool: Pool) -> None:
    """The token is looked at on each call; a body never says who is asking, nor which chat it is."""
    body = {**proposal(company), "thread_id": str(uuid4())}
    assert await robot.ask("propose", action_id=str(uuid4()), proposal=body) == "invalid_input"
    await revoke_token(pool, company["mia"].principal, UUID(str(robot.agent.id)))
    assert await robot.ask("list") == "unauthenticated"


async def test_a_card_that_no_message_holds_is_refused_and_not_met_with_silence(
    robot: OnTheBus, company: Company, pool: Pool
) -> None:
    """An agent that asks for it is told so at once; the action's state fits into a list."""
    by = robot.agent.principal
    (operation,) = prepared_action().operations
    change = operation.changes[0].model_copy(update={"after": "x" * 1000, "before": "y" * 1000})
    large = tuple(operation.model_copy(update={"id": f"op{number}", "changes": (change,) * 40}) for number in range(100))
    command = propose_command(by, company.north)
    action = await verbs.propose(pool, command, PreparedAction(operations=large, digest="d"), trace=None)
    assert await robot.ask("get", action_id=str(action.id)) == "too_large"
    assert [one["state"] for one in (await robot.ask("list"))["actions"]] == ["pending"]
