"""For how long each kind of client is held, by the total that its progress announces: nobody waits for it."""

import json
from collections.abc import AsyncIterator
from typing import Any

import httpx2
import pytest
from tests.doors.over_mcp.talk import LEGACY, META, said

from askbus.bus.envelope import Service
from askbus.bus.provision import provision
from askbus.db.pool import Pool
from askbus.testing.composed import Composed, compose
from askbus.testing.people import Company, give_token
from askbus.testing.servers import Server, TestDatabase
from askbus_gateway.app import make_app as make_gateway
from askbus_question_broker.app import make_app as make_broker


@pytest.fixture
async def usual(database: TestDatabase, nats_server: Server) -> AsyncIterator[Composed]:
    """A gateway that holds as it is shipped to, and reports at once."""
    await provision(nats_server.url, ack_wait=1)
    services = [(Service.GATEWAY, make_gateway), (Service.QUESTION_BROKER, make_broker)]
    async with compose(database, nats_server.url, services, mcp_report=0.02) as running:
        yield running


async def held(client: httpx2.AsyncClient, wait: float = 600, **how: Any) -> float:
    """The seconds for which a question like this is held. The client goes away as soon as it knows."""
    arguments = {"text": "How long?", "dedupe_key": "how long", "wait_seconds": wait}
    request = said("tools/call", {"name": "ask_user_question", "arguments": arguments}, progressToken=1, **how)
    async with client.stream("POST", "/mcp", **request) as response:
        async for line in response.aiter_lines():
            if line.startswith("data:"):
                told = json.loads(line[5:])
                assert told["method"] == "notifications/progress"
                total: float = told["params"]["total"]
                return total
    raise AssertionError("the call ended without a report")


def named(name: str) -> dict[str, Any]:
    """How a client of the later era says who it is."""
    return {f"{META}clientInfo": {"name": name, "version": "1"}}


@pytest.mark.requirement("M9")
async def test_a_client_is_held_for_as_long_as_it_is_known_to_bear(usual: Composed, pool: Pool, company: Company) -> None:
    """45 s whoever is unknown, 240 s a client known to wait, by its name or its User-Agent; none longer than it wished for."""
    agent = await give_token(pool, company["mia"])
    async with usual.client(agent) as robot:
        assert await held(robot) == 45
        assert await held(robot, 30) == 30
        assert await held(robot, **named("claude-code")) == 240
        assert await held(robot, 100, **named("claude-code")) == 100
        assert await held(robot, **named("mcp-inspector")) == 240
        assert await held(robot, **named("inspector-client")) == 45
        robot.headers["user-agent"] = "claude-code/2.1.150 (sdk-cli)"
        assert await held(robot, revision=LEGACY) == 240


@pytest.mark.requirement("M9", "Q2")
async def test_a_token_is_held_for_as_long_as_its_owner_said(usual: Composed, company: Company) -> None:
    """Up to ten minutes, and for a client known to bear less or more it is the owner's word that counts."""
    async with usual.client(company["mia"]) as mia, usual.client() as robot:
        for hold in (600, 20):
            made = await mia.post("/v1/tokens", json={"name": "held", "scopes": ["questions:ask"], "mcp_hold": hold})
            robot.headers["authorization"] = f"Bearer {made.json()['secret']}"
            assert await held(robot) == hold
            assert await held(robot, **named("claude-code")) == hold
