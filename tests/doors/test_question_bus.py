"""Questions straight on the bus: what the service itself lets through, whoever sends it, and what an agent is woken with."""

import asyncio
import json
from collections.abc import AsyncIterator
from typing import Any
from uuid import UUID, uuid4

import pytest
from nats.aio.msg import Msg
from pydantic import BaseModel

from askbus.access import verbs as access
from askbus.access.model import Principal, Role, Scope
from askbus.bus.commands import Commands
from askbus.bus.connection import Connection, connect
from askbus.bus.subjects import agent_inbox, agent_request
from askbus.db.ids import new_id
from askbus.db.pool import Pool
from askbus.errors import Conflict, NotFound, PermissionDenied
from askbus.questions.model import MOST_NOTES
from askbus.testing.composed import Composed
from askbus.testing.people import Agent, Company, give_token
from askbus.testing.questions import (
    answer_command,
    ask_back_command,
    ask_command,
    cancel_command,
    decline_command,
    open_question,
)
from askbus.testing.servers import Server
from askbus_question_broker.doors import fitting


@pytest.fixture
async def service(questions: Composed, nats_server: Server) -> AsyncIterator[Commands]:
    """Commands as a service sends them."""
    nc = await connect(nats_server.url, "gateway")
    yield Commands(nc, 10)
    await nc.close()


class Robot:
    """An agent with nothing but a NATS connection."""

    def __init__(self, agent: Agent, nc: Connection) -> None:
        self.agent = agent
        self.nc = nc
        self.woken: asyncio.Queue[Msg] = asyncio.Queue()

    async def send(self, verb: str, **body: object) -> Any:
        """The reply as it comes: `ok` or `error`."""
        data = json.dumps(body, default=str).encode()
        reply = await self.nc.request(agent_request(self.agent.id, "question", verb), data, timeout=10)
        return json.loads(reply.data)

    async def ok(self, verb: str, **body: object) -> Any:
        reply = await self.send(verb, **body)
        assert reply["error"] is None, reply
        return reply["ok"]

    async def ask(self, company: Company, **said: object) -> UUID:
        ask = {"project_id": company.north, "text": "Ship it?", **said}
        return UUID((await self.ok("ask", question_id=new_id(), ask=ask))["id"])


@pytest.fixture
async def robot(questions: Composed, nats_server: Server, company: Company, pool: Pool) -> AsyncIterator[Robot]:
    """Mia's agent."""
    agent = await give_token(pool, company["mia"])
    nc = await connect(nats_server.url, "agent", agent_inbox(agent.id))
    robot = Robot(agent, nc)

    async def wake(message: Msg) -> None:
        robot.woken.put_nowait(message)

    await nc.subscribe(f"told.{agent.id}.>", cb=wake)
    await nc.flush()
    yield robot
    await nc.close()


@pytest.mark.requirement("Q9")
async def test_the_service_refuses_readers_itself(service: Commands, company: Company, pool: Pool) -> None:
    """A command sent past every door: refused by the scopes that the principal has, and by its membership if it claims more."""
    question = await open_question(pool, company["mia"].principal, company.north)
    for who in ("viewer", "demo"):
        principal = company[who].principal
        claims = principal.model_copy(update={"scopes": frozenset(Scope), "role": Role.OWNER, "demo": False})
        for by in (principal, claims):
            for command in (
                ask_command(by, company.north),
                answer_command(by, question.id),
                decline_command(by, question.id),
                ask_back_command(by, question.id),
                cancel_command(by, question.id),
            ):
                with pytest.raises((PermissionDenied, NotFound)):
                    await service.ask(command)
    assert await pool.fetchval("SELECT count(*) FROM questions") == 1
    assert await pool.fetchval("SELECT state FROM questions") == "open"


@pytest.mark.requirement("Q4", "Q6")
async def test_a_command_that_is_sent_again_gets_the_same_success(service: Commands, company: Company, pool: Pool) -> None:
    """As a door does that got no reply: both times the same, once in the audit; and from 20 at once one wins."""
    mia, max_ = company["mia"].principal, company["max"].principal
    ask = ask_command(mia, company.north)
    assert len({(await service.ask(ask)).model_dump_json() for _ in range(2)}) == 1
    answers = [answer_command(max_, ask.question_id, f"answer {n}") for n in range(20)]
    outcomes = await asyncio.gather(*(service.ask(answer) for answer in answers), return_exceptions=True)
    won = [n for n, outcome in enumerate(outcomes) if not isinstance(outcome, BaseException)]
    assert len(won) == 1
    assert all(isinstance(outcome, Conflict) for n, outcome in enumerate(outcomes) if n not in won)
    again = await service.ask(answers[won[0]])
    assert (again.answer, again.model_dump()) == (f"answer {won[0]}", outcomes[won[0]].model_dump())  # type: ignore[union-attr]
    events = await pool.fetch("SELECT event FROM audit_log WHERE entity_id = $1 ORDER BY id", ask.question_id)
    assert [row["event"] for row in events] == ["question.asked", "question.answered"]


@pytest.mark.requirement("Q3", "Q6")
async def test_an_agent_asks_looks_and_takes_back(robot: Robot, service: Commands, company: Company, pool: Pool) -> None:
    """Its own questions alone: what others asked is not there, though its owner could see it."""
    others = await open_question(pool, company["mia"].principal, company.north)
    first, second = await robot.ask(company), await robot.ask(company, dedupe_key="k")
    assert await robot.ask(company, dedupe_key="k") == second
    listed = await robot.ok("list", filter={"state": "open"})
    assert [UUID(question["id"]) for question in listed["questions"]] == [second, first]
    assert (await robot.ok("get", question_id=first))["state"] == "open"
    for verb in ("get", "cancel"):
        assert (await robot.send(verb, question_id=others.id))["error"]["code"] in {"not_found", "permission_denied"}
        assert (await robot.send(verb, question_id=uuid4()))["error"]["code"] == "not_found"
    for _ in range(2):
        assert (await robot.ok("cancel", question_id=first))["state"] == "cancelled"
    await service.ask(answer_command(company["max"].principal, second))
    lost = (await robot.send("cancel", question_id=second))["error"]
    assert (lost["code"], lost["details"]["question"]["answer"]) == ("conflict", "yes")


@pytest.mark.requirement("Q6", "Q10", "Q5")
async def test_an_agent_is_woken_with_an_id_and_a_state(robot: Robot, service: Commands, company: Company, pool: Pool) -> None:
    """Asked back, answered, expired: on its own subject, without a word of what was said; the row keeps what it has to hear."""
    max_ = company["max"].principal
    answered, expired = await robot.ask(company), await robot.ask(company, expires_in=1)
    await service.ask(ask_back_command(max_, answered, "a secret?"))
    await service.ask(answer_command(max_, answered, "the secret"))
    woken: dict[str, set[bytes]] = {}
    async with asyncio.timeout(15):
        while woken != {
            f"told.{robot.agent.id}.{answered}": {b"open", b"answered"},
            f"told.{robot.agent.id}.{expired}": {b"expired"},
        }:
            message = await robot.woken.get()
            woken.setdefault(message.subject, set()).add(message.data)
    untold = {told["question"]["id"]: told["untold"] for told in (await robot.ok("untold"))["told"]}
    assert untold == {str(answered): 2, str(expired): 1}
    for question_id, heard in ((answered, 2), (expired, 1)):
        await robot.ok("heard", question_id=question_id, heard=heard)
    assert (await robot.ok("untold"))["told"] == []


@pytest.mark.requirement("I1", "I3", "Q9")
async def test_the_token_is_looked_at_with_every_request(robot: Robot, company: Company, pool: Pool) -> None:
    """Its owner became a viewer; then it lacks the scope; then it is revoked: the connection is the same all along."""
    question = await robot.ask(company)
    await access.set_member(pool, company.workspace_id, company["mia"].id, Role.VIEWER)
    ask = {"project_id": company.north, "text": "And now?"}
    for verb, body in (("ask", {"question_id": new_id(), "ask": ask}), ("cancel", {"question_id": question}), ("untold", {})):
        assert (await robot.send(verb, **body))["error"]["code"] == "permission_denied", verb
    await access.set_member(pool, company.workspace_id, company["mia"].id, Role.MEMBER)
    await pool.execute("UPDATE tokens SET scopes = '{data:read}' WHERE id = $1", robot.agent.id)
    assert (await robot.send("get", question_id=question))["error"]["code"] == "permission_denied"
    await pool.execute("UPDATE tokens SET scopes = '{questions:ask}' WHERE id = $1", robot.agent.id)
    assert (await robot.ok("get", question_id=question))["state"] == "open"
    await access.revoke_token(pool, company["mia"].principal, robot.agent.id)
    assert (await robot.send("get", question_id=question))["error"]["code"] == "unauthenticated"


@pytest.mark.requirement("I12", "Q6")
async def test_what_does_not_fit_in_one_message_comes_in_several(robot: Robot, company: Company, pool: Pool) -> None:
    """Fifty of the longest questions: pages end where a message would be too large, and none is left out."""
    asked = [await robot.ask(company, text="那" * 20_000) for _ in range(25)]
    seen: list[UUID] = []
    before: str | None = None
    pages = 0
    while before is not None or pages == 0:
        page = await robot.ok("list", filter={"before": before} if before else {})
        seen += [UUID(question["id"]) for question in page["questions"]]
        before, pages = page["next"], pages + 1
    assert seen == asked[::-1]
    assert pages > 1
    await pool.execute("UPDATE questions SET untold = 1")
    told = (await robot.ok("untold"))["told"]
    assert 0 < len(told) < 25


class Item(BaseModel):
    text: str


@pytest.mark.requirement("I12")
def test_a_page_is_never_empty_for_want_of_room() -> None:
    """One item that is too large goes alone: the message says so, rather than nothing for ever."""
    items = [Item(text="x" * 50) for _ in range(5)]
    size = len(items[0].model_dump_json())
    assert fitting(items, 2 * size) == tuple(items[:2])
    assert fitting(items, 2 * size - 1) == tuple(items[:1])
    assert fitting(items, 1) == tuple(items[:1])
    assert fitting([], 1) == ()


@pytest.mark.requirement("I12", "Q4")
async def test_the_largest_question_that_there_can_be_fits_in_a_message(
    robot: Robot, service: Commands, company: Company
) -> None:
    """The longest text, every note, the largest answer: the agent that asked can still be told."""
    max_: Principal = company["max"].principal
    fields = {f"field {n}": {"type": "string"} for n in range(50)}
    question = await robot.ask(company, text="那" * 20_000, answer_schema={"properties": fields})
    for _ in range(MOST_NOTES):
        await service.ask(ask_back_command(max_, question, "那" * 2000))
    await service.ask(answer_command(max_, question, dict.fromkeys(fields, "那" * 650)))
    shown = await robot.ok("get", question_id=question)
    assert (shown["state"], len(shown["notes"]), len(shown["answer"])) == ("answered", MOST_NOTES, 50)
