"""Waiting for an outcome over HTTP: event-driven, holding nothing, surviving restarts."""

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AbstractAsyncContextManager
from time import monotonic
from typing import Any
from uuid import uuid4

import httpx2
import pytest

from askbus.access import verbs as access
from askbus.bus.envelope import Service
from askbus.bus.provision import provision
from askbus.db.pool import Pool
from askbus.db.statements import Executor, Row, Statement
from askbus.questions import verbs
from askbus.questions.model import Question
from askbus.testing.composed import Composed, compose
from askbus.testing.events import connect
from askbus.testing.people import Agent, Company, Person, give_token
from askbus.testing.questions import answer_command, ask_back_command, open_question
from askbus.testing.servers import Server, TestDatabase
from askbus.testing.waiting import until
from askbus_gateway import app
from askbus_gateway.sse import waits as sse_waits
from askbus_gateway.sse.waits import Waits
from askbus_question_broker.app import make_app as make_broker

pytestmark = pytest.mark.requirement("Q2")

Running = Callable[..., AbstractAsyncContextManager[Composed]]
PROMPTLY = 20
"""Seconds within which whoever is woken has answered, on a busy machine; a wait that missed its change would take three times that."""


@pytest.fixture
async def running(database: TestDatabase, nats_server: Server) -> Running:
    """`running(Service.GATEWAY, pool_size=2)`: these services. No expiry runs, unless a test starts it."""
    await provision(nats_server.url, ack_wait=1)
    made = {Service.GATEWAY: app.make_app, Service.QUESTION_BROKER: make_broker}

    def run(*services: Service, **settings: object) -> AbstractAsyncContextManager[Composed]:
        return compose(database, nats_server.url, [(service, made[service]) for service in services], **settings)

    return run


@pytest.fixture
def waits(monkeypatch: pytest.MonkeyPatch) -> list[Waits]:
    """Who waits, in each of the gateways that start from now on."""
    made: list[Waits] = []

    class Kept(Waits):
        def __init__(self) -> None:
            super().__init__()
            made.append(self)

    monkeypatch.setattr(app, "Waits", Kept)
    return made


@pytest.fixture
async def gateway(waits: list[Waits], running: Running, company: Company) -> AsyncIterator[Composed]:
    """A gateway alone, with two connections to Postgres."""
    async with running(Service.GATEWAY, pool_size=2) as composed:
        yield composed


@pytest.fixture
async def question(pool: Pool, company: Company) -> Question:
    return await open_question(pool, company["mia"].principal, company.north)


async def answer(db: Executor, company: Company, question: Question) -> None:
    await verbs.answer(db, answer_command(company["max"].principal, question.id), trace=None)


async def outcome(gateway: Composed, who: Person | Agent, question: Question, seconds: float = 60) -> httpx2.Response:
    """The response of a request that waits."""
    async with gateway.client(who) as client:
        return await client.get(f"/v1/questions/{question.id}", params={"wait": seconds})


READ_TOGETHER = ("askbus/questions/sql/get.sql", "askbus/access/sql/still_standing.sql")


def statements_from_now_on(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The statements that return rows, by their files, as they are sent."""
    sent: list[str] = []
    rows = Statement.rows

    async def noted(statement: Statement, db: Executor, **given: object) -> Sequence[Row]:
        sent.append(statement.path)
        return await rows(statement, db, **given)

    monkeypatch.setattr(Statement, "rows", noted)
    return sent


def waiting(waits: list[Waits], number: int) -> Callable[[], Any]:
    """A condition: so many wait."""

    async def they_wait() -> bool:
        return len(waits[-1]) == number

    return they_wait


async def test_the_wait_ends_with_the_answer(
    gateway: Composed, waits: list[Waits], question: Question, company: Company, pool: Pool
) -> None:
    """At once, for everybody who waits, with the answer."""
    calls = [asyncio.ensure_future(outcome(gateway, company[name], question)) for name in ("mia", "max", "viewer")]
    await until(waiting(waits, 3))
    await answer(pool, company, question)
    async with asyncio.timeout(PROMPTLY):
        for call in calls:
            shown = (await call).json()
            assert (shown["status"], shown["answer"]) == ("answered", "yes")
    assert len(waits[-1]) == 0


@pytest.mark.requirement("Q13")
async def test_a_set_that_cannot_be_waited_for_leaves_nobody_waiting(
    gateway: Composed, waits: list[Waits], question: Question, company: Company
) -> None:
    """One unknown id ends it at once, for the others too: no future is left behind until their time is over."""
    async with gateway.client(company["mia"]) as client:
        refused = await client.get("/v1/questions/batch", params={"ids": f"{question.id},{uuid4()}", "wait": 600})
    assert refused.status_code == 404
    await until(waiting(waits, 0))


async def test_a_wait_that_is_over_says_pending(gateway: Composed, question: Question, company: Company) -> None:
    """With the question's id; and without any wait at once."""
    for seconds in (0, 0.3):
        began = monotonic()
        shown = (await outcome(gateway, company["mia"], question, seconds)).json()
        assert (shown["status"], shown["state"], shown["id"]) == ("pending", "open", str(question.id))
        assert seconds <= monotonic() - began < seconds + PROMPTLY


async def test_a_wait_is_between_nothing_and_ten_minutes(gateway: Composed, question: Question, company: Company) -> None:
    """Anything else is refused, in the address and in the body alike."""
    async with gateway.client(company["mia"]) as client:
        for seconds in ("-1", "601", "nan", "inf", "long", ""):
            assert (await client.get(f"/v1/questions/{question.id}", params={"wait": seconds})).status_code == 400
            body = {"project_id": str(company.north), "text": "Well?", "wait_seconds": seconds}
            assert (await client.post("/v1/questions", json=body)).status_code == 400


@pytest.mark.requirement("Q5")
async def test_a_wait_ends_when_its_question_expires(gateway: Composed, company: Company, pool: Pool) -> None:
    """At its time, though nothing sweeps here and no row changes."""
    question = await open_question(pool, company["mia"].principal, company.north, expires_in=1)
    async with asyncio.timeout(PROMPTLY):
        shown = (await outcome(gateway, company["mia"], question)).json()
    assert shown["status"] == "expired"
    assert await pool.fetchval("SELECT state FROM questions WHERE id = $1", question.id) == "open"


@pytest.mark.requirement("Q4")
async def test_being_asked_back_does_not_end_a_wait(
    gateway: Composed, waits: list[Waits], question: Question, company: Company, pool: Pool
) -> None:
    """The question stays open, and so does the wait; the note is there when it ends."""
    other = await open_question(pool, company["mia"].principal, company.north)
    call = asyncio.ensure_future(outcome(gateway, company["mia"], question))
    witness = asyncio.ensure_future(outcome(gateway, company["mia"], other))
    await until(waiting(waits, 2))
    await verbs.ask_back(pool, ask_back_command(company["max"].principal, question.id, "which?"), trace=None)
    await answer(pool, company, other)
    async with asyncio.timeout(PROMPTLY):
        assert (await witness).json()["status"] == "answered"
        await until(waiting(waits, 1))
        assert not call.done()
        await answer(pool, company, question)
        assert [note["text"] for note in (await call).json()["notes"]] == ["which?"]


async def test_many_waits_hold_no_connection_and_are_read_together(
    gateway: Composed, waits: list[Waits], question: Question, company: Company, pool: Pool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two hundred requests wait on a gateway that has two connections; both are free meanwhile. A batch of outcomes is read for so many
    of them at once, with their rights, and nothing else is."""
    monkeypatch.setattr(sse_waits, "SLICE", 40)
    statements = statements_from_now_on(monkeypatch)
    async with gateway.client(company["mia"]) as client:
        url = f"/v1/questions/{question.id}"
        calls = [asyncio.ensure_future(client.get(url, params={"wait": 60})) for _ in range(100)]
        others = [await open_question(pool, company["mia"].principal, company.north) for _ in range(100)]
        async with gateway.client(company["max"]) as more:
            calls += [asyncio.ensure_future(more.get(f"/v1/questions/{other.id}", params={"wait": 60})) for other in others]

            async def nothing_runs() -> bool:
                busy = "SELECT count(*) FROM pg_stat_activity WHERE application_name = 'askbus gateway' AND state <> 'idle'"
                return bool(await pool.fetchval(busy) == 0)

            await until(waiting(waits, 200))
            await until(nothing_runs)
            async with gateway.client(company["viewer"]) as reader:
                assert (await reader.get(url)).json()["status"] == "pending"
            slices = [path for _slice in range(3) for path in READ_TOGETHER]
            for settled, told in (([question], calls[:100]), (others, calls[100:])):
                async with pool.acquire() as db, db.transaction():
                    for one in settled:
                        await answer(db, company, one)
                    statements.clear()
                async with asyncio.timeout(PROMPTLY):
                    responses = [(await call).json() for call in told]
                assert {response["status"] for response in responses} == {"answered"}
                assert {response["id"] for response in responses} == {str(one.id) for one in settled}
                assert [path for path in statements if path in READ_TOGETHER] == slices
                await until(waiting(waits, 100 if settled == [question] else 0))


async def test_an_answer_in_the_moment_of_asking_is_not_missed(gateway: Composed, company: Company, pool: Pool) -> None:
    """Whatever comes first, the wait's own reading or the change."""
    questions = [await open_question(pool, company["mia"].principal, company.north) for _ in range(30)]
    async with asyncio.timeout(PROMPTLY), asyncio.TaskGroup() as group:
        calls = []
        for question in questions:
            calls.append(group.create_task(outcome(gateway, company["mia"], question)))
            group.create_task(answer(pool, company, question))
    assert {call.result().json()["status"] for call in calls} == {"answered"}


async def test_a_wait_survives_a_restart_of_the_broker(
    running: Running, waits: list[Waits], company: Company, pool: Pool
) -> None:
    """It waits for a change in the database, and not for whoever makes it."""
    async with (
        running(Service.GATEWAY) as gateway,
        gateway.client(company["max"]) as max_,
        gateway.client(company["mia"]) as mia,
    ):
        body = {"project_id": str(company.north), "text": "Well?", "wait_seconds": 60}
        async with running(Service.QUESTION_BROKER):
            call = asyncio.ensure_future(mia.post("/v1/questions", json=body))
            await until(waiting(waits, 1))
            question_id = await pool.fetchval("SELECT id FROM questions")
            url = f"/v1/questions/{question_id}/answer"
        refused = await max_.post(url, json={"answer": "yes"})
        assert (refused.status_code, refused.json()["code"]) == (503, "unavailable")
        async with running(Service.QUESTION_BROKER):
            assert (await max_.post(url, json={"answer": "yes"})).status_code == 200
            async with asyncio.timeout(PROMPTLY):
                assert (await call).json()["status"] == "answered"


async def test_a_gateway_that_stops_answers_those_who_wait(
    running: Running, waits: list[Waits], question: Question, company: Company, pool: Pool
) -> None:
    """With the question as it stands, so that they ask the next one."""
    async with running(Service.GATEWAY) as stays:
        async with running(Service.GATEWAY) as stops:
            call = asyncio.ensure_future(outcome(stops, company["mia"], question))
            await until(waiting(waits, 1))
        assert (await call).json()["status"] == "pending"
        again = asyncio.ensure_future(outcome(stays, company["mia"], question))
        await answer(pool, company, question)
        async with asyncio.timeout(PROMPTLY):
            assert (await again).json()["status"] == "answered"


async def test_a_client_that_goes_away_waits_no_longer(
    gateway: Composed, waits: list[Waits], question: Question, company: Company
) -> None:
    """Whether it closes its connection or resets it."""
    for leave in ("close", "reset"):
        client = await connect(gateway.http, company["mia"], path=f"/v1/questions/{question.id}", query={"wait": "60"})
        await until(waiting(waits, 1))
        if leave == "reset":
            client.reset()
        await client.close()
        await until(waiting(waits, 0))


@pytest.mark.requirement("I3")
async def test_rights_that_end_during_a_wait_end_it(
    gateway: Composed, waits: list[Waits], question: Question, company: Company, pool: Pool
) -> None:
    """Who lost the project, or whose token was revoked, hears so at once and does not get the answer for which they waited."""
    agent = await give_token(pool, company["owner"])
    lost, revoked = (asyncio.ensure_future(outcome(gateway, who, question)) for who in (company["mia"], agent))
    await until(waiting(waits, 2))
    await access.remove_from_project(pool, company.workspace_id, company.north, company["mia"].id)
    await access.revoke_token(pool, company["owner"].principal, agent.id)
    async with asyncio.timeout(PROMPTLY):
        assert ((await lost).status_code, (await revoked).status_code) == (404, 401)
    await until(waiting(waits, 0))
