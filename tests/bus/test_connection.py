"""The connection of a process: patient at the start, endless afterwards, quiet in the log."""

import asyncio
from pathlib import Path
from uuid import UUID

import pytest

from askbus.bus.connection import Connection, connect
from askbus.bus.subjects import may_answer
from askbus.stack.nats import Nats
from askbus.stack.ports import free_port
from askbus.testing.bus import Bus
from askbus.testing.waiting import until


async def test_connecting_waits_for_a_server_that_is_not_there_yet(tmp_path: Path) -> None:
    """Services and servers may be started in any order."""
    server = Nats(tmp_path / "nats", port=free_port(), log=tmp_path / "nats.log")
    connecting = asyncio.create_task(connect(server.url, "early"))
    done, _ = await asyncio.wait({connecting}, timeout=0.3)
    assert not done
    await server.start()
    nc = await asyncio.wait_for(connecting, 10)
    assert nc.is_connected
    await nc.close()
    assert not nc.alive
    await server.stop()


async def test_an_outage_is_logged_once_and_its_end_too(bus: Bus, nc: Connection, capsys: pytest.CaptureFixture[str]) -> None:
    """However often it tries in between; and who asked to know is told that the connection is new."""
    renewed: list[bool] = []
    nc.reconnected.add(lambda: renewed.append(True))
    await bus.nats.kill()

    async def tried() -> bool:
        return nc.is_reconnecting and nc.server_pool[0].reconnects >= 4

    await until(tried)
    await bus.nats.start()

    async def back() -> bool:
        return nc.is_connected and bool(renewed)

    await until(back)
    logged = capsys.readouterr().out
    assert logged.count("Connect call failed") == 1
    assert logged.count("nats.reconnected") == 1


async def test_a_flush_comes_after_everything_that_was_sent(bus: Bus, nc: Connection) -> None:
    """A flushed subscription hears what any other connection sends next; nats-py's own PING can be faster than the SUB."""
    other = await bus.connect("other")
    for number in range(200):
        heard = asyncio.get_running_loop().create_future()
        subscription = await nc.subscribe(f"x.{number}", future=heard)
        await nc.flush()
        await other.publish(f"x.{number}", b"")
        await asyncio.wait_for(heard, 5)
        assert subscription.delivered == 1


AGENT, OTHER = UUID("0199a0e0-0000-7000-8000-00000000000a"), UUID("0199a0e0-0000-7000-8000-00000000000b")


@pytest.mark.parametrize(
    ("subject", "reply", "may"),
    [
        ("cmd.question-broker.AskQuestion", "_INBOX.gateway.1.2", True),
        ("cmd.question-broker.AskQuestion", "", False),
        ("cmd.question-broker.AskQuestion", "_INBOX", False),
        ("cmd.question-broker.AskQuestion", "_INBOX.>", False),
        ("cmd.question-broker.AskQuestion", "_INBOXES.1", False),
        ("cmd.question-broker.AskQuestion", "cmd.action-applier.ConfirmAction", False),
        (f"agent.{AGENT}.question.ask", f"_INBOX.agent.{AGENT}.1", True),
        (f"agent.{AGENT}.question.ask", f"_INBOX.agent.{AGENT}", False),
        (f"agent.{AGENT}.question.ask", f"_INBOX.agent.{OTHER}.1", False),
        (f"agent.{AGENT}.question.ask", "_INBOX.gateway.1", False),
        ("agent.nobody.question.ask", "_INBOX.agent.nobody.1", False),
        (f"agent.{str(AGENT).upper()}.question.ask", f"_INBOX.agent.{str(AGENT).upper()}.1", False),
    ],
)
def test_only_inboxes_are_answered(subject: str, reply: str, may: bool) -> None:
    """A service in an inbox, an agent in its own."""
    assert may_answer(subject, reply) is may
