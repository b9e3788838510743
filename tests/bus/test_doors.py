"""Doors of agents on the bus: who asks stands in the subject, and only they are answered."""

import json
from collections.abc import Mapping
from typing import Any
from uuid import UUID, uuid4

import pytest
from pydantic import BaseModel, ConfigDict

from askbus.bus.app import TokenId, agent_door, make_broker
from askbus.bus.connection import Connection
from askbus.bus.envelope import Service
from askbus.bus.subjects import agent_request
from askbus.errors import InvalidInput
from askbus.testing.bus import Bus, spy


class Question(BaseModel):
    """What an agent sends. That it names somebody must not matter."""

    model_config = ConfigDict(extra="forbid")

    text: str


class Asked(BaseModel):
    """What it gets."""

    by: UUID
    text: str


class Door:
    """A door that tells who asked."""

    def __init__(self, nc: Connection) -> None:
        self.asked: list[Asked] = []
        self.broker = make_broker(nc)
        agent_door(self.broker, Service.QUESTION_BROKER, "question", "ask")(self.on_ask)

    async def on_ask(self, request: Question, token: TokenId) -> Asked:
        asked = Asked(by=token, text=request.text)
        self.asked.append(asked)
        return asked


@pytest.fixture
async def door(nc: Connection) -> Door:
    """The open door."""
    door = Door(nc)
    await door.broker.start()
    return door


async def test_the_door_knows_who_asks_from_the_subject(door: Door, bus: Bus) -> None:
    """Two agents at once are not mixed up."""
    agents = [uuid4() for _ in range(2)]
    connections = [await bus.connect_agent(p) for p in agents]
    for number in range(20):
        for p, agent in zip(agents, connections, strict=True):
            assert (await _ask(agent, p, {"text": str(number)}))["ok"] == {"by": str(p), "text": str(number)}
    assert len(door.asked) == 40


async def test_a_body_cannot_say_who_asks(door: Door, bus: Bus) -> None:
    """There is no such field."""
    p = uuid4()
    agent = await bus.connect_agent(p)
    assert (await _ask(agent, p, {"text": "x", "p": str(uuid4())}))["error"]["code"] == InvalidInput.code
    assert door.asked == []


@pytest.mark.parametrize(
    "reply_subject",
    [
        "cmd.action-applier.ConfirmAction",
        "_INBOX.gateway.stolen",
        "_INBOX.agent.00000000-0000-0000-0000-000000000000.stolen",
        "_INBOX.agent.{p}",
        "_INBOX.agent.{p}x.stolen",
        "told.{p}.1",
        "",
    ],
)
async def test_an_answer_goes_to_the_agents_own_inbox_or_nowhere(door: Door, bus: Bus, reply_subject: str) -> None:
    """The door could publish in any inbox; an agent must not have it do so."""
    p = uuid4()
    agent = await bus.connect_agent(p)
    target = reply_subject.format(p=p)
    heard = await spy(await bus.connect("watcher"), target or "_INBOX.>")
    await agent.publish(agent_request(p, "question", "ask"), b'{"text": "attack"}', reply=target)
    assert (await _ask(agent, p, {"text": "after"}))["ok"]["text"] == "after"
    assert [one.text for one in door.asked] == ["after"]
    assert [message for message in heard if b"attack" in message.data] == []


async def test_a_subject_without_an_id_is_ignored(door: Door, bus: Bus) -> None:
    """Permissions keep agents from it; the door does not rely on that."""
    agent = await bus.connect("agent.nobody")
    await agent.publish("agent.nobody.question.ask", b'{"text": "x"}', reply="_INBOX.agent.nobody.1")
    await agent.flush()
    p = uuid4()
    await _ask(await bus.connect_agent(p), p, {"text": "after"})
    assert [one.text for one in door.asked] == ["after"]


async def _ask(agent: Connection, p: UUID, body: Mapping[str, str]) -> Any:
    reply = await agent.request(agent_request(p, "question", "ask"), json.dumps(body).encode(), timeout=2)
    return json.loads(reply.data)
