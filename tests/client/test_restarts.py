"""What agents do not notice: services and servers that start anew, networks that break."""

import asyncio
import gc
from collections.abc import Awaitable, Callable
from functools import partial
from uuid import uuid4

import nats
import pytest
from tests.client.cable import cable_to
from tests.client.conftest import Door, Stage

from askbus.access import verbs
from askbus.bus import subjects
from askbus.bus.envelope import Service
from askbus.bus.streams import FACTS
from askbus.client import BusClient, HttpClient, QuestionState, link
from askbus.db.pool import Pool
from askbus.errors import InvalidInput, TimedOut, Unauthenticated, Unavailable
from askbus.questions.agents import AskRequest
from askbus.questions.model import Ask, AskQuestion
from askbus.testing.people import Agent, Company, give_token
from askbus.testing.waiting import until


@pytest.mark.requirement("Q2", "O10")
@pytest.mark.parametrize("service", [Service.QUESTION_BROKER, Service.GATEWAY, Service.EXPIRY])
async def test_a_wait_survives_the_restart_of_a_service(
    door: Door, stage: Stage, company: Company, pool: Pool, service: Service
) -> None:
    """Answered after it, and returned by the same call."""
    async with door(await give_token(pool, company["mia"])) as bus:
        asked = await bus.ask(company.north, "Across a restart?")
        waiting = asyncio.create_task(bus.wait(asked.id, 60))
        await stage.restart(service)
        await stage.answer(company["max"], asked.id, "yes")
        assert (await waiting).answer == "yes"


@pytest.mark.requirement("Q2", "O10")
async def test_a_wait_survives_nats_being_killed(door: Door, stage: Stage, company: Company, pool: Pool) -> None:
    """Killed and started again on its data: the agent connects anew and hears the answer."""
    async with door(await give_token(pool, company["mia"])) as bus:
        asked = await bus.ask(company.north, "Across a crash?")
        waiting = asyncio.create_task(bus.wait(asked.id, 60))
        await stage.nats.kill()
        await stage.nats.start()
        await stage.ready()
        await stage.answer(company["max"], asked.id, "yes")
        assert (await waiting).answer == "yes"


@pytest.mark.requirement("Q2", "O10")
async def test_an_answer_given_while_the_agents_network_was_down_is_found_over_http(
    stage: Stage, company: Company, pool: Pool
) -> None:
    """The request that waited is cut; the next one finds the answer."""
    agent = await give_token(pool, company["mia"])
    async with cable_to(stage.http) as cable, HttpClient(f"http://127.0.0.1:{cable.port}", agent.token) as bus:
        asked = await bus.ask(company.north, "Can you hear me?")
        waiting = asyncio.create_task(bus.wait(asked.id, 60))
        cable.cut()
        await stage.answer(company["max"], asked.id, "yes")
        cable.mend()
        assert (await waiting).answer == "yes"


@pytest.mark.requirement("Q2", "Q6", "O10")
@pytest.mark.parametrize("call", ["wait", "outcomes"])
async def test_an_answer_given_while_the_agents_network_was_down_is_found_on_the_bus(
    stage: Stage, company: Company, pool: Pool, call: str
) -> None:
    """The wake-up went nowhere; whoever comes back reads what it missed."""
    agent = await give_token(pool, company["mia"])
    async with cable_to(stage.nats.url) as cable, BusClient(f"nats://127.0.0.1:{cable.port}", agent.token) as bus:
        asked = await bus.ask(company.north, "Can you hear me?")
        async with stage.overhears(f"{subjects.agent_inbox(agent.id)}.>"):
            going = asyncio.create_task(bus.wait(asked.id, 60) if call == "wait" else anext(bus.outcomes()))
        await bus.list_open()  # its answer comes after the one that the call got: now the call sleeps until it is woken
        cable.cut()
        async with stage.overhears(subjects.all_told(agent.id)):
            await stage.answer(company["max"], asked.id, "yes")
        cable.mend()
        async with asyncio.timeout(15):
            assert (await going).answer == "yes"


@pytest.mark.requirement("Q1", "Q6", "O2")
async def test_a_question_asked_while_the_broker_is_away_is_asked_once(
    door: Door, stage: Stage, company: Company, pool: Pool
) -> None:
    """The client goes on trying with the same id until somebody is there."""
    async with door(await give_token(pool, company["mia"])) as bus:
        await stage.stop(Service.QUESTION_BROKER)
        asking = asyncio.create_task(bus.ask(company.north, "Is anybody there?"))
        await stage.start(Service.QUESTION_BROKER)
        asked = await asking
        assert asked.state is QuestionState.OPEN
        assert await pool.fetchval("SELECT count(*) FROM questions") == 1


async def test_patience_has_an_end(door: Door, stage: Stage, company: Company, pool: Pool) -> None:
    """A call says what is missing once its client's patience is over."""
    async with door(await give_token(pool, company["mia"]), patience=0.3) as bus:
        await stage.stop(Service.QUESTION_BROKER)
        with pytest.raises((Unavailable, TimedOut)):
            await bus.ask(company.north, "Is anybody there?")


@pytest.mark.requirement("I6", "I7")
async def test_an_agents_token_opens_its_own_subjects_and_no_other(stage: Stage, company: Company, pool: Pool) -> None:
    """Another agent's requests and wake-ups, services' commands, stored messages: NATS refuses each, and nothing happens."""
    agent, other = await give_token(pool, company["mia"]), await give_token(pool, company["max"])
    refused: list[str] = []

    async def on_error(error: Exception) -> None:
        refused.append(str(error))

    nc = await nats.connect(
        stage.nats.url, token=agent.token, inbox_prefix=subjects.agent_inbox(agent.id), error_cb=on_error, allow_reconnect=False
    )
    ask = AskRequest(question_id=uuid4(), ask=Ask(project_id=company.north, text="In another's name?")).model_dump_json().encode()
    for subject in (
        subjects.agent_request(other.id, "question", "ask"),
        AskQuestion.subject(),
        subjects.fact("question.answered", other.id),
        f"$JS.API.CONSUMER.MSG.NEXT.{FACTS}.question-broker",
    ):
        await nc.publish(subject, ask, reply=f"{subjects.agent_inbox(agent.id)}.reply")
    for subject in (subjects.all_told(other.id), f"{subjects.agent_inbox(other.id)}.>", "cmd.>", "$SYS.>"):
        await nc.subscribe(subject)
    await nc.flush()
    await until(lambda: _length(refused, 8))
    assert all("permissions violation" in error.lower() for error in refused)
    await nc.close()
    assert await pool.fetchval("SELECT count(*) FROM questions") == 0


async def _length(of: list[str], number: int) -> bool:
    return len(of) >= number


@pytest.mark.requirement("I7")
async def test_a_token_that_nobody_issued_does_not_connect(stage: Stage, company: Company, pool: Pool) -> None:
    """The gateway's verdict comes at once; what is no token at all is not even tried."""
    agent = await give_token(pool, company["mia"])
    forged = agent.token[:-4] + ("aaaa" if not agent.token.endswith("aaaa") else "bbbb")
    with pytest.raises(Unauthenticated):
        async with asyncio.timeout(10), BusClient(stage.nats.url, forged, patience=60):
            pass
    with pytest.raises(InvalidInput, match="no API token"):
        BusClient(stage.nats.url, "s3cr3t")
    async with HttpClient(stage.http, "s3cr3t") as bus:
        with pytest.raises(Unauthenticated):
            await bus.list_open()


@pytest.mark.requirement("O2")
async def test_an_agent_connects_once_somebody_can_say_who_it_is(stage: Stage, company: Company, pool: Pool) -> None:
    """Without a gateway there is no verdict: the agent waits for one, and gives up without calling its token bad."""
    agent = await give_token(pool, company["mia"])
    await stage.stop(Service.GATEWAY)
    with pytest.raises(Unavailable):
        async with BusClient(stage.nats.url, agent.token, patience=0.5):
            pass
    bus = BusClient(stage.nats.url, agent.token, patience=30)
    entering = asyncio.create_task(bus.__aenter__())
    await stage.start(Service.GATEWAY)
    await entering
    async with bus:
        assert await bus.list_open() == ()


async def be_revoked(pool: Pool, company: Company, agent: Agent) -> None:
    await verbs.revoke_token(pool, company["mia"].principal, agent.id)


async def be_put_out(pool: Pool, company: Company, agent: Agent) -> None:
    """However a membership ends."""
    await pool.execute("DELETE FROM memberships WHERE user_id = $1", company["mia"].id)


@pytest.mark.requirement("I7", "I3")
@pytest.mark.parametrize("end", [be_revoked, be_put_out])
async def test_a_token_that_ends_takes_its_connections_with_it_and_no_others(
    end: Callable[[Pool, Company, Agent], Awaitable[None]], stage: Stage, company: Company, pool: Pool
) -> None:
    """Revoked, or its owner is removed: NATS itself closes them, whatever the agent does; a client that only listens is told why."""
    agent, other = await give_token(pool, company["mia"]), await give_token(pool, company["max"])
    closed = asyncio.Event()

    async def on_close() -> None:
        closed.set()

    idle = await nats.connect(stage.nats.url, token=agent.token, allow_reconnect=False, closed_cb=on_close)
    staying = await nats.connect(stage.nats.url, token=other.token, allow_reconnect=False)
    async with BusClient(stage.nats.url, agent.token) as bus:
        listening = asyncio.create_task(anext(bus.outcomes()))
        await end(pool, company, agent)
        async with asyncio.timeout(10):
            await closed.wait()
            with pytest.raises(Unauthenticated):
                await listening
    await staying.flush()
    assert (idle.is_connected, staying.is_connected) == (False, True)
    await staying.close()


@pytest.mark.requirement("O2", "O10")
async def test_no_outage_is_taken_for_a_refused_token(
    stage: Stage, company: Company, pool: Pool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """NATS says `Authorization Violation` once nobody has answered it in time: a client that hears that goes on trying, and one that
    is connected when a gateway comes back with its token revoked is told so."""
    monkeypatch.setattr(link, "CONNECT_TIMEOUT", 4.0)  # longer than the server waits for a gateway
    agent = await give_token(pool, company["mia"])
    bus = BusClient(stage.nats.url, agent.token, patience=30)
    async with bus:
        await stage.stop(Service.GATEWAY)
        await stage.nats.kill()
        await stage.nats.start()
        with pytest.raises(Unavailable, match="no gateway could say"):
            async with BusClient(stage.nats.url, agent.token, patience=7.5):
                pass
        await verbs.revoke_token(pool, company["mia"].principal, agent.id)
        going = asyncio.create_task(bus.list_open())
        await stage.start(Service.GATEWAY)
        with pytest.raises(Unauthenticated):
            async with asyncio.timeout(15):
                await going
    gc.collect()  # nats-py leaves tasks that failed while they closed: let them be reported here, and not in the middle of an import


@pytest.mark.parametrize(
    ("client", "error"),
    [
        (partial(HttpClient, "http://127.0.0.1:9"), Unavailable),
        (partial(HttpClient, "askbus.example"), InvalidInput),
    ],
)
async def test_a_wrong_address_is_said_to_be_one(client: partial[HttpClient], error: type[Exception]) -> None:
    """Nothing listens there, or it is no address."""
    with pytest.raises(error):
        async with client("token", patience=0) as bus:
            await bus.list_open()
