"""Commands: typed request, typed reply, typed error, whatever happens to either side."""

import asyncio
import json
from collections import Counter
from typing import Any
from uuid import UUID, uuid4

import pytest
from faststream.specification import AsyncAPI
from pydantic import AwareDatetime, BaseModel, ConfigDict

from askbus.bus.app import Broker, command, make_broker
from askbus.bus.commands import Commands
from askbus.bus.connection import Connection
from askbus.bus.envelope import Command, Service
from askbus.errors import Conflict, Internal, InvalidInput, NotFound, TimedOut, TooLarge, Unavailable
from askbus.runtime import telemetry
from askbus.testing.bus import Bus, somebody, spy
from askbus.testing.waiting import until

NOON = "2026-11-02T12:00:00Z"
TRACE = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"


class Asked(BaseModel):
    """A strict model: in Python it would take no text for a UUID, from JSON it must."""

    model_config = ConfigDict(strict=True)

    id: UUID
    text: str
    at: AwareDatetime
    labels: frozenset[str] = frozenset()


class AskQuestion(Command[Asked], owner=Service.QUESTION_BROKER):
    """Bears a real command's name, since others may not be sent."""

    text: str
    labels: frozenset[str] = frozenset()


def ask(text: str = "why?") -> AskQuestion:
    return AskQuestion(command_id=uuid4(), by=somebody(), text=text, labels=frozenset({"a", "b"}))


def reply_to(request: AskQuestion) -> Asked:
    return Asked.model_validate_json(
        json.dumps({"id": str(request.command_id), "text": request.text, "at": NOON, "labels": sorted(request.labels)})
    )


class Owner:
    """The question-broker's side. `work` is what its handler does."""

    def __init__(self, nc: Connection, drain: float = 5) -> None:
        self.broker: Broker = make_broker(nc, drain=drain)
        self.got: list[AskQuestion] = []
        self.came = asyncio.Event()
        self.release = asyncio.Event()
        self.release.set()
        self.raises: dict[str, Exception] = {}
        command(self.broker, AskQuestion)(self.on_ask)

    async def on_ask(self, command: AskQuestion) -> Asked:
        self.got.append(command)
        self.came.set()
        if error := self.raises.get(command.text):
            raise error
        await self.release.wait()
        return reply_to(command)


@pytest.fixture
async def owner(nc: Connection) -> Owner:
    """An owner that answers."""
    owner = Owner(nc)
    await owner.broker.start()
    return owner


@pytest.fixture
async def caller(bus: Bus) -> Connection:
    """The gateway's connection."""
    return await bus.connect(Service.GATEWAY)


@pytest.fixture
async def commands(caller: Connection) -> Commands:
    """The gateway's way to owners."""
    return Commands(caller)


async def test_a_command_is_answered_with_what_its_owner_made_of_it(owner: Owner, commands: Commands) -> None:
    """Both sides see the models that they declared, strict ones included."""
    sent = ask()
    assert await commands.ask(sent) == reply_to(sent)
    assert owner.got == [sent]


@pytest.mark.parametrize("refusal", [Conflict("It was answered.", {"state": "answered"}), NotFound("There is no such question.")])
async def test_a_refusal_reaches_the_caller_as_it_was_raised(
    owner: Owner, commands: Commands, refusal: Conflict | NotFound
) -> None:
    """Type, message and details."""
    owner.raises["why?"] = refusal
    with pytest.raises(type(refusal)) as caught:
        await commands.ask(ask())
    assert caught.value.body() == refusal.body()


async def test_a_defect_is_answered_without_a_word_of_it(
    owner: Owner, commands: Commands, capsys: pytest.CaptureFixture[str]
) -> None:
    """The caller learns that it is ours; the log names kind and place, not the content that the error quotes."""
    owner.raises["why?"] = ValueError("planted")
    with pytest.raises(Internal) as caught:
        await commands.ask(ask())
    assert caught.value.body() == Internal.hidden().body()
    logged = capsys.readouterr().out
    assert "bus.request_failed" in logged
    assert "ValueError" in logged
    assert "planted" not in logged


@pytest.mark.parametrize(
    ("body", "told"),
    [
        (b'{"text": "planted', "Invalid JSON"),
        (b"", "Invalid JSON"),
        (b'{"text": {"planted": 1}}', "text: Input should be a valid string"),
        (b"\xff\xfe", "Invalid JSON"),
    ],
)
async def test_a_request_that_is_no_command_is_told_what_is_wrong(
    owner: Owner, caller: Connection, body: bytes, told: str
) -> None:
    """Undecodable input gets a typed reply like any other, and does not see its own content in it."""
    reply = await caller.request(AskQuestion.subject(), body, timeout=2)
    error = json.loads(reply.data)["error"]
    assert error["code"] == InvalidInput.code
    assert told in error["message"]
    assert "planted" not in error["message"]
    assert owner.got == []


async def test_without_an_owner_the_caller_knows_that_nothing_happened(caller: Connection) -> None:
    """Nobody was asked: it may be sent again."""
    with pytest.raises(Unavailable, match="No question-broker is running"):
        await Commands(caller, patience=0.1).ask(ask())


async def test_a_command_waits_for_an_owner_that_is_just_being_restarted(nc: Connection, caller: Connection) -> None:
    """It has reached nobody, so it is sent again until somebody is there, and happens once."""
    sent = ask()
    asking = asyncio.create_task(Commands(caller, patience=30).ask(sent))
    await until(lambda: _true(caller.stats["in_msgs"] > 0))  # the server's word that nobody listens
    owner = Owner(nc)
    await owner.broker.start()
    assert await asking == reply_to(sent)
    assert owner.got == [sent]


async def test_an_owner_that_takes_too_long_is_a_timeout(owner: Owner, commands: Commands) -> None:
    """It may have happened: the same command may be sent again."""
    owner.release.clear()
    with pytest.raises(TimedOut, match="Send it again"):
        await commands.ask(ask(), timeout=0.1)
    owner.release.set()


async def test_while_nats_is_away_a_command_is_refused(bus: Bus, caller: Connection) -> None:
    """It is not buffered, to happen at some later time when nobody waits for it."""
    await bus.nats.kill()

    async def away() -> bool:
        return not caller.is_connected

    await until(away)
    with pytest.raises(Unavailable, match="not reachable"):
        await Commands(caller, patience=0.1).ask(ask())
    await bus.nats.start()


async def test_a_command_beyond_the_largest_message_is_too_large(owner: Owner, commands: Commands) -> None:
    """The server's limit is 1 MiB."""
    with pytest.raises(TooLarge):
        await commands.ask(ask("x" * (1 << 20)))


async def test_one_slow_command_does_not_hold_up_the_next(owner: Owner, commands: Commands) -> None:
    """Requests are worked on side by side."""
    owner.release.clear()
    owner.raises["quick"] = Conflict("quick")
    slow = asyncio.create_task(commands.ask(ask("slow")))
    await owner.came.wait()
    with pytest.raises(Conflict):
        await commands.ask(ask("quick"))
    assert not slow.done()
    owner.release.set()
    await slow


async def test_several_instances_share_the_commands(bus: Bus, owner: Owner, commands: Commands) -> None:
    """Each command is handled by one of them."""
    second = Owner(await bus.connect(Service.QUESTION_BROKER))
    await second.broker.start()
    sent = [ask(str(number)) for number in range(60)]
    await asyncio.gather(*(commands.ask(one) for one in sent))
    assert Counter(one.text for one in owner.got + second.got) == Counter(one.text for one in sent)
    assert owner.got
    assert second.got


async def test_stopping_finishes_everything_that_has_arrived(owner: Owner, caller: Connection) -> None:
    """Requests in work and those still in the socket are answered; new ones find nobody."""
    commands = Commands(caller, patience=0)
    owner.release.clear()
    asked = [asyncio.create_task(commands.ask(ask(str(number)))) for number in range(100)]
    await owner.came.wait()
    stopping = asyncio.create_task(owner.broker.stop())
    await until(lambda: _true(len(owner.got) >= 64))
    owner.release.set()
    await stopping
    results = await asyncio.gather(*asked, return_exceptions=True)
    assert [result for result in results if not isinstance(result, Asked)] == []
    with pytest.raises(Unavailable):
        await commands.ask(ask())


async def test_what_a_stopping_owner_cannot_finish_is_told_to_the_caller(bus: Bus, commands: Commands) -> None:
    """It does not have to wait for its own timeout."""
    owner = Owner(await bus.connect(Service.QUESTION_BROKER), drain=0.1)
    await owner.broker.start()
    owner.release.clear()
    asked = asyncio.create_task(commands.ask(ask(), timeout=30))
    await owner.came.wait()
    await owner.broker.stop()
    with pytest.raises(TimedOut, match="is stopping"):
        await asked


async def test_the_owner_goes_on_with_the_callers_trace(bus: Bus, commands: Commands) -> None:
    """One request is one trace, over every hop."""
    traces: list[str | None] = []
    broker = make_broker(await bus.connect(Service.QUESTION_BROKER))

    async def on_ask(request: AskQuestion) -> Asked:
        traces.append(telemetry.traceparent())
        return reply_to(request)

    command(broker, AskQuestion)(on_ask)
    await broker.start()
    with telemetry.span("GET /", parent=TRACE):
        await commands.ask(ask())
    assert [trace and trace.split("-")[1] for trace in traces] == [TRACE.split("-")[1]]
    await broker.stop()


@pytest.mark.parametrize("target", ["cmd.action-applier.ConfirmAction", "fact.action.confirmed.1", "$JS.API.STREAM.DELETE.FACTS"])
async def test_a_reply_subject_that_is_no_inbox_is_not_published_to(
    owner: Owner, bus: Bus, caller: Connection, commands: Commands, target: str
) -> None:
    """A caller names the reply subject, the owner has the permission: it must not be made to send what the caller may not."""
    heard = await spy(await bus.connect("watcher"), target)
    await caller.publish(AskQuestion.subject(), ask("attack").model_dump_json().encode(), reply=target)
    await commands.ask(ask("after"))
    assert [one.text for one in owner.got] == ["after"]
    assert heard == []


async def test_owners_survive_a_restart_of_nats(bus: Bus, owner: Owner, commands: Commands) -> None:
    """They answer again without being started anew."""
    await bus.nats.kill()
    await bus.nats.start()
    sent = ask()
    assert await commands.ask(sent) == reply_to(sent)


def test_a_command_that_nobody_may_send_is_refused_at_the_wiring() -> None:
    """Without its entry in the table of permissions it would look like a timeout."""

    class Forgotten(Command[Asked], owner=Service.QUESTION_BROKER):
        pass

    with pytest.raises(ValueError, match=r"Forgotten is not in askbus\.bus\.accounts\.VERBS of question-broker"):
        command(make_broker(Connection()), Forgotten)


def test_commands_are_documented_as_asyncapi() -> None:
    """FastStream derives it from the handlers."""
    document: Any = AsyncAPI(Owner(Connection()).broker).to_specification().to_jsonable()
    assert document["channels"]["AskQuestion"]["address"] == "cmd.question-broker.AskQuestion"
    assert "command_id" in json.dumps(document["components"]["schemas"])


async def _true(condition: bool) -> bool:
    return condition
