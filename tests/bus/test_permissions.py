"""Every service may do on NATS what it needs, and nothing else: tried on a server with a deployment's accounts."""

import importlib
import pkgutil
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any
from uuid import UUID, uuid4

import pytest

import askbus
from askbus.bus.accounts import ADMIN, SENDS, VERBS, permissions
from askbus.bus.connection import Connection
from askbus.bus.envelope import Command, Service
from askbus.bus.provision import check
from askbus.bus.publisher import publish_facts
from askbus.bus.signals import Piece, TurnStream, on_stop, publish_piece, send_stop
from askbus.bus.streams import ACTS_ON, FACTS_OF, SETTLED, STREAMS
from askbus.bus.worker import Worker
from askbus.errors import Unavailable
from askbus.testing.bus import ACK_WAIT, Bus, Seen, answered, handlers
from askbus.testing.waiting import until

EVERYTHING_ELSE = (
    "anything",
    "cmd.question-broker.AskQuestion",
    "cmd.question-broker.AnswerQuestion",
    "cmd.action-applier.ProposeChanges",
    "cmd.action-applier.ConfirmAction",
    "cmd.agent-loop.StartTurn",
    "fact.question.answered.1",
    "fact.turn.queued.1",
    "fact.tool_run.finished.1",
    "fact.action.confirmed.1",
    "fact.anything.1",
    "sig.turn.1",
    "sig.stop.1",
    "told.1.1",
    "agent.1.question.ask",
    "agent.1.action.propose",
    "dlq.agent-loop",
    "dlq.question-broker",
    "nudge.agent-loop",
    "$SYS.REQ.USER.AUTH",
    "$SYS._INBOX.1.1",
    "$SYS.REQ.ACCOUNT.PING.CONNZ",
    "$SYS.REQ.SERVER.1.KICK",
    "$SYS.REQ.SERVER.1.RELOAD",
    "$JS.API.INFO",
    "$JS.API.STREAM.CREATE.MINE",
    "$JS.API.STREAM.UPDATE.FACTS",
    "$JS.API.STREAM.DELETE.FACTS",
    "$JS.API.STREAM.PURGE.FACTS",
    "$JS.API.STREAM.MSG.DELETE.FACTS",
    "$JS.API.STREAM.MSG.GET.FACTS",
    "$JS.API.DIRECT.GET.FACTS",
    "$JS.API.DIRECT.GET.TURNS",
    "$JS.API.DIRECT.GET.DLQ",
    "$JS.API.CONSUMER.CREATE.FACTS.mine.fact.>",
    "$JS.API.CONSUMER.DURABLE.CREATE.FACTS.mine",
    "$JS.API.CONSUMER.DELETE.FACTS.agent-loop",
    "$JS.API.CONSUMER.MSG.NEXT.FACTS.agent-loop",
    "$JS.API.CONSUMER.MSG.NEXT.FACTS.question-broker",
    "$JS.ACK.FACTS.agent-loop.1.1.1.1.1",
    "$JS.ACK.FACTS.question-broker.1.1.1.1.1",
    "_INBOX.gateway.1",
)
"""Subjects of every kind. What a service may publish is a small part of them."""

MAY_PUBLISH = {
    Service.GATEWAY: {
        "cmd.question-broker.AskQuestion", "cmd.question-broker.AnswerQuestion", "cmd.action-applier.ProposeChanges",
        "cmd.action-applier.ConfirmAction", "cmd.agent-loop.StartTurn", "$JS.API.DIRECT.GET.TURNS", "$SYS._INBOX.1.1",
        "$SYS.REQ.ACCOUNT.PING.CONNZ", "$SYS.REQ.SERVER.1.KICK",
    },
    Service.AGENT_LOOP: {
        "fact.turn.queued.1", "sig.turn.1", "sig.stop.1", "dlq.agent-loop", "nudge.agent-loop", "$JS.API.DIRECT.GET.FACTS",
        "$JS.API.CONSUMER.MSG.NEXT.FACTS.agent-loop", "$JS.ACK.FACTS.agent-loop.1.1.1.1.1", "_INBOX.gateway.1",
    },
    Service.TOOL_RUNNER: {
        "cmd.question-broker.AskQuestion", "cmd.action-applier.ProposeChanges", "fact.tool_run.finished.1", "sig.turn.1",
        "$JS.API.DIRECT.GET.FACTS", "_INBOX.gateway.1",
    },
    Service.ACTION_APPLIER: {"fact.action.confirmed.1", "told.1.1", "$JS.API.DIRECT.GET.FACTS", "_INBOX.gateway.1"},
    Service.QUESTION_BROKER: {
        "fact.question.answered.1", "told.1.1", "dlq.question-broker", "$JS.API.DIRECT.GET.FACTS",
        "$JS.API.CONSUMER.MSG.NEXT.FACTS.question-broker", "$JS.ACK.FACTS.question-broker.1.1.1.1.1", "_INBOX.gateway.1",
    },
    Service.EXPIRY: {"nudge.agent-loop"},
}  # fmt: skip

EVERY_SUBSCRIPTION = (
    ">", "*", "cmd.>", "cmd.question-broker.AskQuestion", "cmd.agent-loop.StartTurn", "cmd.action-applier.ConfirmAction",
    "fact.>", "sig.>", "sig.turn.*", "sig.stop.*", "told.>", "agent.>", "agent.*.question.*", "agent.*.action.*", "dlq.>",
    "nudge.question-broker", "_INBOX.>", "_INBOX.gateway.>", "_INBOX.agent.>", "_INBOX.expiry.>", "$SYS.>", "$SYS.REQ.USER.AUTH",
    "$JS.>", "$JS.EVENT.>",
)  # fmt: skip

MAY_SUBSCRIBE = {
    Service.GATEWAY: {"sig.turn.*", "_INBOX.gateway.>", "$SYS.REQ.USER.AUTH"},
    Service.AGENT_LOOP: {"cmd.agent-loop.StartTurn", "sig.stop.*"},
    Service.TOOL_RUNNER: {"sig.stop.*"},
    Service.ACTION_APPLIER: {"cmd.action-applier.ConfirmAction", "agent.*.action.*"},
    Service.QUESTION_BROKER: {"cmd.question-broker.AskQuestion", "agent.*.question.*", "nudge.question-broker"},
    Service.EXPIRY: {"_INBOX.expiry.>"},
}


@dataclass
class Tried:
    """A connection and the refusals that it got."""

    nc: Connection
    refused: list[str] = field(default_factory=list)

    async def publish(self, subjects: Sequence[str]) -> set[str]:
        """Those that were let through."""
        return await self._let_through("publish", subjects)

    async def subscribe(self, subjects: Sequence[str]) -> set[str]:
        """Those that were let through."""
        return await self._let_through("subscription", subjects)

    async def _let_through(self, what: str, subjects: Sequence[str]) -> set[str]:
        for subject in subjects:
            await (self.nc.publish(subject, b"") if what == "publish" else self.nc.subscribe(subject))
        await self.nc.flush()
        words = f"permissions violation for {what} to "
        refused = [error.lower().partition(words)[2].strip('"') for error in self.refused]
        return {subject for subject in subjects if subject.lower() not in refused}


@asynccontextmanager
async def trying(url: str, name: str, token: str | None = None) -> AsyncIterator[Tried]:
    """Connected as the user in `url`, or as the agent with this token."""
    tried = Tried(Connection())

    async def on_error(error: Exception) -> None:
        tried.refused.append(str(error).removeprefix("nats: "))

    await tried.nc.connect(url, inbox_prefix=f"_INBOX.{name}", error_cb=on_error, token=token)
    try:
        yield tried
    finally:
        await tried.nc.close()


@pytest.mark.parametrize("service", list(Service))
async def test_a_service_publishes_what_it_needs_and_nothing_else(guarded: Bus, service: Service) -> None:
    """Tried for every subject of every kind."""
    async with trying(guarded.url(service), service.value) as tried:
        assert await tried.publish(EVERYTHING_ELSE) == MAY_PUBLISH[service]


@pytest.mark.parametrize("service", list(Service))
async def test_a_service_hears_what_it_needs_and_nothing_else(guarded: Bus, service: Service) -> None:
    """Nobody listens to another's requests, replies or facts."""
    async with trying(guarded.url(service), service.value) as tried:
        assert await tried.subscribe(EVERY_SUBSCRIPTION) == MAY_SUBSCRIBE[service]


@pytest.mark.parametrize("service", list(Service))
async def test_the_server_grants_exactly_what_the_table_says(guarded: Bus, service: Service) -> None:
    """Each line of the generated configuration is understood as it is meant."""
    allowed = permissions(service)
    concrete = [subject.replace("*", "1").replace(">", "1.1.1.1.1") for subject in allowed.publish]
    async with trying(guarded.url(service), service.value) as tried:
        assert await tried.publish(concrete) == set(concrete)
        assert await tried.subscribe(allowed.subscribe) == set(allowed.subscribe)


async def test_the_administrator_cannot_play_the_server(guarded: Bus) -> None:
    """Who could answer the authorisation callout, or ask it, could be anybody."""
    async with trying(guarded.url(ADMIN), ADMIN) as tried:
        assert await tried.publish(["$SYS.REQ.USER.AUTH"]) == set()
        assert await tried.subscribe(["$SYS.REQ.USER.AUTH"]) == set()


@pytest.mark.parametrize("service", list(ACTS_ON))
async def test_a_worker_does_with_its_own_credentials(guarded: Bus, service: Service) -> None:
    """It checks the streams, is healthy, handles a fact, and sets a dead letter aside."""
    nc = await guarded.connect(service)
    await check(nc, service, ack_wait=ACK_WAIT)
    admin = await guarded.connect(ADMIN)
    seen = Seen()
    worker = Worker(nc, service, handlers(seen, service), ack_wait=ACK_WAIT)
    await worker.start()
    await until(worker.healthy)
    word = min(ACTS_ON[service])
    fact = answered().model_copy(update={"fact": word})
    await guarded.publish(admin, fact)
    await seen.count(1)
    await admin.jetstream().publish(f"fact.{word}.1", b"no fact")
    await guarded.dead_letter(admin, service)
    await guarded.settled(admin, service)
    await worker.stop()


@pytest.mark.parametrize("service", list(FACTS_OF))
async def test_a_relay_publishes_its_own_facts_with_its_own_credentials(guarded: Bus, service: Service) -> None:
    """And gets JetStream's acknowledgement in its inbox."""
    nc = await guarded.connect(service)
    await guarded.publish(
        nc, *(answered(n).model_copy(update={"fact": word}) for n, word in enumerate(sorted(FACTS_OF[service])))
    )


async def test_a_relay_cannot_publish_a_fact_that_another_owns(guarded: Bus) -> None:
    """The agent-loop cannot say that a question was answered."""
    nc = await guarded.connect(Service.AGENT_LOOP)
    with pytest.raises(Unavailable):
        await publish_facts(nc.jetstream(), [answered()], timeout=0.3)


async def test_signals_travel_with_the_services_own_credentials(guarded: Bus) -> None:
    """From the agent-loop and the tool-runner to the gateway, and a stop to both."""
    gateway, loop, runner = [await guarded.connect(s) for s in (Service.GATEWAY, Service.AGENT_LOOP, Service.TOOL_RUNNER)]
    turn = uuid4()
    stopped: list[UUID] = []
    await on_stop(runner, stopped.append)
    await publish_piece(loop, turn, Piece("1.1.1", b"a"))
    await publish_piece(runner, turn, Piece("2.1.1", b"b"))
    await loop.flush()
    await runner.flush()
    async with TurnStream(gateway, turn) as stream:
        pieces = aiter(stream)
        assert {(await anext(pieces)).id for _ in range(2)} == {"1.1.1", "2.1.1"}
    await send_stop(loop, turn)
    await until(lambda: _equal(stopped, [turn]))


def test_every_command_is_in_the_table_of_permissions() -> None:
    """And the table names no command that does not exist."""
    for module in pkgutil.walk_packages(askbus.__path__, "askbus."):
        if module.name.endswith((".model", ".turn_undo")):
            importlib.import_module(module.name)
    ours = [kind for kind in _subclasses(Command) if kind.__module__.startswith("askbus.") and "owner" in kind.__dict__]
    assert {(kind.owner, kind.__name__) for kind in ours} == {(owner, verb) for owner, verbs in VERBS.items() for verb in verbs}


def test_no_service_but_the_gateway_may_confirm_or_answer() -> None:
    """The model proposes and asks; people decide, and they come in at the gateway."""
    for sender, owners in SENDS.items():
        sent = {verb for verbs in owners.values() for verb in verbs}
        assert sender is Service.GATEWAY or sent <= {"AskQuestion", "ProposeChanges"}


def test_every_state_in_which_a_question_is_settled_is_told() -> None:
    """An agent waits for each of them."""
    assert {f"question.{state}" for state in SETTLED} < ACTS_ON[Service.QUESTION_BROKER]
    assert {f"question.{state}" for state in SETTLED} < ACTS_ON[Service.AGENT_LOOP]


def test_only_users_of_a_stream_may_look_at_it() -> None:
    """A service that does not use a stream cannot read its configuration either."""
    for stream in STREAMS:
        for service in Service:
            may = f"$JS.API.STREAM.INFO.{stream.name}" in permissions(service).publish
            assert may == (service in stream.used_by)


def _subclasses(kind: type[Command[Any]]) -> set[type[Command[Any]]]:
    return {below for direct in kind.__subclasses__() for below in {direct, *_subclasses(direct)}}


async def _equal(left: object, right: object) -> bool:
    return left == right
