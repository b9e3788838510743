"""Agents connect to NATS with their API token, and get their own subjects and no others."""

import asyncio
import base64
import json
from collections.abc import AsyncIterator
from uuid import UUID, uuid4

import nkeys  # type: ignore[import-untyped]
import pytest
from pydantic import BaseModel

from askbus.bus.accounts import agent_permissions
from askbus.bus.app import TokenId, agent_door, make_broker
from askbus.bus.callout import Callout, Known
from askbus.bus.connection import Connection
from askbus.bus.envelope import Service
from askbus.bus.subjects import AUTH_CALLOUT, agent_request, told
from askbus.runtime.secrets import callout_seed
from askbus.testing.bus import Bus, knock, spy
from askbus.testing.servers import SECRET
from askbus.testing.waiting import until

AGENT, OTHER = UUID("0199a0e0-0000-7000-8000-00000000000a"), UUID("0199a0e0-0000-7000-8000-00000000000b")
TOKENS = {"token-of-agent": AGENT, "token-of-other": OTHER}

FORBIDDEN_TO_PUBLISH = (
    f"agent.{OTHER}.question.ask",
    f"agent.{OTHER}.action.propose",
    f"agent.{AGENT}.question.ask.more",
    f"agent.{AGENT}.memory.write",
    f"agent.{AGENT}",
    "cmd.question-broker.AnswerQuestion",
    "cmd.action-applier.ConfirmAction",
    "fact.action.confirmed.1",
    "sig.turn.1",
    "sig.stop.1",
    f"told.{AGENT}.1",
    f"told.{OTHER}.1",
    "dlq.agent-loop",
    f"_INBOX.agent.{OTHER}.1",
    "_INBOX.gateway.1",
    "$JS.API.INFO",
    "$JS.API.STREAM.INFO.FACTS",
    "$JS.API.CONSUMER.MSG.NEXT.FACTS.agent-loop",
    "$JS.API.DIRECT.GET.FACTS",
    "$JS.API.DIRECT.GET.TURNS",
    "$JS.ACK.FACTS.agent-loop.1.1.1.1.1",
    "$SYS.REQ.USER.AUTH",
    "$SYS.REQ.USER.INFO.1",
    "$SYS.REQ.ACCOUNT.PING.CONNZ",
    "$SYS.REQ.SERVER.1.KICK",
)

FORBIDDEN_TO_HEAR = (
    ">", "agent.>", f"agent.{AGENT}.>", f"told.{OTHER}.>", "told.>", "_INBOX.>", f"_INBOX.agent.{OTHER}.>", "_INBOX.agent.>",
    "cmd.>", "fact.>", "sig.>", "sig.turn.*", "dlq.>", "$SYS.>", "$JS.>", AUTH_CALLOUT,
)  # fmt: skip


async def authenticate(token: str) -> Known | None:
    if token == "token-that-breaks":
        raise ConnectionResetError
    if token == "token-that-ends":
        return Known(AGENT, seconds_left=0.5)
    return None if token not in TOKENS else Known(TOKENS[token])


@pytest.fixture
async def gateway(guarded: Bus) -> AsyncIterator[Callout]:
    """A gateway that answers the server's questions."""
    callout = Callout(await guarded.connect(Service.GATEWAY), callout_seed(SECRET), authenticate)
    await callout.start()
    yield callout
    await callout.stop()


class Question(BaseModel):
    """What an agent asks here, and is told back."""

    text: str


@pytest.fixture
async def heard(guarded: Bus) -> AsyncIterator[list[tuple[UUID, str]]]:
    """The question-broker's door, with its own credentials, and who asked what there."""
    asked: list[tuple[UUID, str]] = []
    broker = make_broker(await guarded.connect(Service.QUESTION_BROKER))

    async def on_ask(request: Question, token: TokenId) -> Question:
        asked.append((token, request.text))
        return request

    agent_door(broker, Service.QUESTION_BROKER, "question", "ask")(on_ask)
    await broker.start()
    yield asked
    await broker.stop()


async def test_an_agent_asks_in_its_own_name(guarded: Bus, gateway: Callout, heard: list[tuple[UUID, str]]) -> None:
    """With nothing but its token, and gets the answer."""
    agent = await guarded.connect_agent(AGENT, "token-of-agent")
    reply = await agent.request(agent_request(AGENT, "question", "ask"), b'{"text": "why?"}', timeout=2)
    assert json.loads(reply.data)["ok"] == {"text": "why?"}
    assert heard == [(AGENT, "why?")]


async def test_an_agent_hears_what_it_is_told(guarded: Bus, gateway: Callout) -> None:
    """And not what another is told."""
    agent = await guarded.connect_agent(AGENT, "token-of-agent")
    mine = await spy(agent, f"told.{AGENT}.>")
    broker = await guarded.connect(Service.QUESTION_BROKER)
    question = uuid4()
    await broker.publish(told(OTHER, question), b"answered")
    await broker.publish(told(AGENT, question), b"answered")
    await until(lambda: _true(len(mine) == 1))
    assert mine[0].subject == told(AGENT, question)


REFUSAL = "'maximum account active connections exceeded'"
NO_VERDICT = "'Authorization Violation'"


@pytest.mark.requirement("I7")
@pytest.mark.parametrize(
    ("credentials", "says"),
    [
        ({}, NO_VERDICT),
        ({"auth_token": "no-such-token"}, REFUSAL),
        ({"auth_token": ""}, NO_VERDICT),
        ({"auth_token": "x" * 2000}, REFUSAL),
        ({"auth_token": "token-that-breaks"}, NO_VERDICT),
        ({"user": "gateway", "pass": "wrong"}, NO_VERDICT),
        ({"user": "stranger", "pass": "token-of-agent"}, NO_VERDICT),
        ({"user": "token-of-agent"}, NO_VERDICT),
    ],
)
async def test_a_stranger_does_not_get_in(guarded: Bus, gateway: Callout, credentials: dict[str, str], says: str) -> None:
    """A token that is no good is told so, in words that no outage has; and the next one who knocks is answered all the same."""
    assert await knock(guarded.server.url, **credentials) == f"-ERR {says}"
    assert await knock(guarded.server.url, auth_token="token-of-agent") == "PONG"  # a token of this test


async def test_while_no_gateway_runs_nobody_gets_in(guarded: Bus) -> None:
    """The server waits for an answer, and lets in nobody without one; what it says then is not what it says of a bad token."""
    assert await knock(guarded.server.url, auth_token="token-of-agent") == f"-ERR {NO_VERDICT}"


@pytest.mark.requirement("I7")
async def test_a_connection_ends_with_its_token(guarded: Bus, gateway: Callout) -> None:
    """The server itself closes it, whatever the agent does."""
    errors: list[str] = []
    agent, closed = Connection(), asyncio.Event()

    async def on_close() -> None:
        errors.append(str(agent.last_error))
        closed.set()

    await agent.connect(guarded.server.url, token="token-that-ends", closed_cb=on_close)
    async with asyncio.timeout(10):
        await closed.wait()
    assert "authentication expired" in errors[0].lower()


async def test_an_agent_publishes_on_its_own_subjects_only(guarded: Bus, gateway: Callout) -> None:
    """Not in another's name, no command, no fact, no JetStream, nothing of the server's."""
    refused = await _refused(guarded, "publish", FORBIDDEN_TO_PUBLISH)
    assert refused == set(FORBIDDEN_TO_PUBLISH)


async def test_an_agent_subscribes_to_its_own_subjects_only(guarded: Bus, gateway: Callout) -> None:
    """It hears neither other agents nor services."""
    refused = await _refused(guarded, "subscription", FORBIDDEN_TO_HEAR)
    assert refused == set(FORBIDDEN_TO_HEAR)


async def test_an_agent_may_do_all_that_its_permissions_list(guarded: Bus, gateway: Callout) -> None:
    """The credentials that the server took are those that the table names."""
    allowed = agent_permissions(str(AGENT))
    assert await _refused(guarded, "publish", [subject.replace("*", "x") for subject in allowed.publish]) == set()
    assert await _refused(guarded, "subscription", allowed.subscribe) == set()


@pytest.mark.parametrize(
    "target", [f"_INBOX.agent.{OTHER}.1", "cmd.action-applier.ConfirmAction", "_INBOX.gateway.1", f"told.{OTHER}.1"]
)
async def test_an_agent_cannot_have_the_answer_sent_elsewhere(
    guarded: Bus, gateway: Callout, heard: list[tuple[UUID, str]], target: str
) -> None:
    """The reply subject is checked at the door: the owner may publish in every inbox, the agent must not through it."""
    agent = await guarded.connect_agent(AGENT, "token-of-agent")
    await agent.publish(agent_request(AGENT, "question", "ask"), b'{"text": "attack"}', reply=target)
    await agent.request(agent_request(AGENT, "question", "ask"), b'{"text": "after"}', timeout=2)
    assert heard == [(AGENT, "after")]


async def test_an_agent_has_no_jetstream(guarded: Bus, gateway: Callout) -> None:
    """Asked for a stored message with a command as reply subject, JetStream would deliver it there."""
    watcher = await spy(await guarded.connect(Service.ACTION_APPLIER), "cmd.action-applier.ConfirmAction")
    agent = await guarded.connect_agent(AGENT, "token-of-agent")
    for api in ("CONSUMER.MSG.NEXT.FACTS.action-applier", "DIRECT.GET.FACTS", "STREAM.MSG.GET.FACTS"):
        await agent.publish(f"$JS.API.{api}", b'{"seq": 1}', reply="cmd.action-applier.ConfirmAction")
    await agent.flush()
    assert watcher == []


async def test_several_gateways_answer(guarded: Bus, gateway: Callout) -> None:
    """Each question goes to one of them, and one that stopped is asked no more."""
    second = Callout(await guarded.connect(Service.GATEWAY), callout_seed(SECRET), authenticate)
    await second.start()
    answers = await asyncio.gather(*(knock(guarded.server.url, auth_token=token) for token in [*TOKENS] * 5))
    assert set(answers) == {"PONG"}
    await second.stop()
    answers = await asyncio.gather(*(knock(guarded.server.url, auth_token=token) for token in [*TOKENS] * 5))
    assert set(answers) == {"PONG"}


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")  # nats-py leaves sockets of refused attempts
async def test_an_agent_comes_back_after_nats_was_killed(guarded: Bus, gateway: Callout, heard: list[tuple[UUID, str]]) -> None:
    """Its connection knocks again with its token, as often as it takes until a gateway is back too."""
    agent = await guarded.connect_agent(AGENT, "token-of-agent")
    await guarded.nats.kill()
    await guarded.nats.start()
    await until(lambda: _true(agent.stats["reconnects"] > 0 and agent.is_connected))

    async def asks() -> bool:
        try:
            await agent.request(agent_request(AGENT, "question", "ask"), b'{"text": "again"}', timeout=1)
        except Exception:  # noqa: BLE001  # the broker is not back yet
            return False
        return True

    await until(asks)
    assert heard[-1] == (AGENT, "again")


@pytest.mark.parametrize("garbage", [b"", b"x", b"a.b.c", b"a.e30.c", b"\xff" * 100, b"e30.eyJuYXRzIjogMX0.x"])
async def test_garbage_is_not_answered_and_harms_nobody(bus: Bus, garbage: bytes) -> None:
    """On a server that lets everyone publish there; the callout goes on."""
    seed = nkeys.encode_seed(b"s" * 32, nkeys.PREFIX_BYTE_ACCOUNT).decode()
    gateway = await bus.connect(Service.GATEWAY)
    callout = Callout(gateway, seed, authenticate)
    await callout.start()
    answers = await spy(gateway, "$SYS._INBOX.>")
    other = await spy(gateway, "cmd.>")
    attacker = await bus.connect("attacker")
    await attacker.publish(AUTH_CALLOUT, garbage, reply="$SYS._INBOX.1.1")
    await attacker.publish(AUTH_CALLOUT, _question(), reply="cmd.action-applier.ConfirmAction")
    await attacker.publish(AUTH_CALLOUT, _question(), reply="$SYS._INBOX.1.2")
    await until(lambda: _true(len(answers) == 1))
    assert answers[0].subject == "$SYS._INBOX.1.2"
    assert other == []
    await callout.stop()


def _question() -> bytes:
    """A server's question about nobody, unsigned."""
    claims = {"nats": {"server_id": {"id": "N"}, "user_nkey": "U", "connect_opts": {}}}
    return b"e30." + base64.urlsafe_b64encode(json.dumps(claims).encode()) + b".x"


async def _refused(guarded: Bus, what: str, subjects: tuple[str, ...] | list[str]) -> set[str]:
    """Those of the subjects that the server did not let the agent publish on, or subscribe to."""
    errors: list[str] = []
    agent = Connection()

    async def on_error(error: Exception) -> None:
        errors.append(str(error).lower())

    await agent.connect(guarded.server.url, token="token-of-agent", inbox_prefix=f"_INBOX.agent.{AGENT}", error_cb=on_error)
    for subject in subjects:
        await (agent.publish(subject, b"") if what == "publish" else agent.subscribe(subject))
    await agent.flush()
    await agent.close()
    words = f"permissions violation for {what} to "
    denied = {error.partition(words)[2].strip('"') for error in errors if words in error}
    return {subject for subject in subjects if subject.lower() in denied}


async def _true(condition: bool) -> bool:
    return condition
