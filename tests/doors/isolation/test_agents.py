"""The doors of agents on the bus, by one table: what the token of somebody else gets of a question and an action of Mia's agent (I6)."""

import json
from collections.abc import AsyncIterator, Mapping
from contextlib import AsyncExitStack
from typing import Any

import pytest
from tests.doors.isolation.furnished import Furnished
from tests.doors.isolation.table import UUIDS

from askbus.access.model import TOKEN_SCOPES, Scope
from askbus.bus.connection import Connection, connect
from askbus.bus.subjects import agent_inbox, agent_request
from askbus.db.ids import new_id
from askbus.testing.actions import create
from askbus.testing.people import Agent, give_token
from askbus_action_applier.doors import Doors as ActionDoors
from askbus_question_broker.doors import Doors as QuestionDoors

AGENTS = ("stranger", "other", "reader", "south")
"""Tokens: of the owner of another workspace; of a member who sees the project south alone; of Mia's, to read records and nothing else; of
the owner's with every scope, for the project south alone."""

ASK: Mapping[str, Any] = {"project_id": "{north}", "text": "kestrel?"}
CHANGE: Mapping[str, Any] = {"project_id": "{north}", "operations": [create({"name": "Grace", "email": "kestrel@new.example"})]}

TABLE: Mapping[str, tuple[str, Mapping[str, Any]]] = {
    "question.ask": ("..x.", {"question_id": "{new}", "ask": ASK}),
    "question.ask_many": ("..x.", {"set_id": "{new}", "said": {"questions": [ASK]}}),
    "question.get": ("..x.", {"question_id": "{question}"}),
    "question.list": ("00x0", {}),
    "question.cancel": ("..x.", {"question_id": "{question}"}),
    "question.untold": ("00x0", {}),
    "question.heard": ("00x0", {"question_id": "{question}", "heard": 1}),
    "action.propose": ("..x.", {"action_id": "{new}", "proposal": CHANGE}),
    "action.get": ("..x.", {"action_id": "{action}"}),
    "action.list": ("00x0", {}),
    "action.withdraw": ("..x.", {"action_id": "{action}"}),
    "action.untold": ("00x0", {}),
    "action.heard": ("00x0", {"action_id": "{action}", "heard": 1}),
}
"""As in table.py: `.` is not_found and what a made-up id gets, `x` permission_denied and the same, `0` answered with nothing of it, as
for a made-up id: what an agent says that it heard is taken, and moves nothing that is another's."""


Robot = tuple[Agent, Connection]


@pytest.fixture
async def robots(furnished: Furnished, bus: str) -> AsyncIterator[Mapping[str, Robot]]:
    """The agents and Mia's own, each connected."""
    company, pool, every = furnished.company, furnished.pool, tuple(TOKEN_SCOPES)
    agents = {
        "mine": await give_token(pool, company["mia"]),
        "stranger": await give_token(pool, company["stranger"], every),
        "other": await give_token(pool, furnished.people["other"], every),
        "reader": await give_token(pool, company["mia"], (Scope.DATA_READ,)),
        "south": await give_token(pool, company["owner"], every, (company.south,)),
    }
    async with AsyncExitStack() as opened:
        found = {}
        for who, agent in agents.items():
            nc = await connect(bus, "agent", agent_inbox(agent.id))
            opened.push_async_callback(nc.close)
            found[who] = (agent, nc)
        yield found


async def asked(robot: Robot, door: str, body: Mapping[str, Any], ids: Mapping[str, str]) -> Any:
    """What the owner answers this agent."""
    text = json.dumps(body)
    for name, value in ids.items():
        text = text.replace(f"{{{name}}}", value)
    agent, nc = robot
    noun, verb = door.split(".")
    reply = await nc.request(agent_request(agent.id, noun, verb), text.encode(), timeout=20)
    return json.loads(reply.data)


def cell(real: Any, made_up: Any) -> str:
    """What an agent got, as the table writes it."""
    code = (real["error"] or {}).get("code")
    if code in {"not_found", "permission_denied"} and real == made_up:
        return "." if code == "not_found" else "x"
    nothing = code is None and UUIDS.sub("", json.dumps(real)) == UUIDS.sub("", json.dumps(made_up))
    return "0" if nothing and "kestrel" not in json.dumps(real) else json.dumps([real, made_up])


@pytest.mark.requirement("I6", "I4")
async def test_no_agent_gets_what_is_anothers_at_any_door(robots: Mapping[str, Robot], furnished: Furnished) -> None:
    """Door by door; and Mia's own agent does get an answer to each, so that no refusal is for another reason."""
    served = {f"question.{verb}" for verb in QuestionDoors.table(QuestionDoors.__new__(QuestionDoors))} | {
        f"action.{verb}" for verb in ActionDoors.table(ActionDoors.__new__(ActionDoors))
    }
    assert served == TABLE.keys()
    mine = robots["mine"]
    north = str(furnished.company.north)
    found = {}
    for door, (_cells, body) in TABLE.items():
        ids = {"north": north, "new": str(new_id())}
        ids["question"] = (await asked(mine, "question.ask", {"question_id": str(new_id()), "ask": ASK}, ids))["ok"]["id"]
        ids["action"] = (await asked(mine, "action.propose", {"action_id": str(new_id()), "proposal": CHANGE}, ids))["ok"]["id"]
        nobodys = {name: str(new_id()) for name in ids}
        found[door] = "".join(
            [cell(await asked(robots[who], door, body, ids), await asked(robots[who], door, body, nobodys)) for who in AGENTS]
        )
        own = await asked(mine, door, body, ids)
        assert own["error"] is None or door.endswith("heard"), (door, own)
    assert found == {door: cells for door, (cells, _body) in TABLE.items()}
