"""The fork server that fault tests start services from: what it starts is a process like any other."""

import asyncio
import os
import signal
import sys
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import psutil
import pytest

from askbus.stack.ports import free_port
from askbus.stack.process import Child
from askbus.testing.fork_server import ForkServer
from askbus.testing.waiting import until

WARM = ["askbus_expiry.app"]
NOWHERE = {"ASKBUS_DATABASE_URL": "postgresql://127.0.0.1:1/none", "ASKBUS_NATS_URL": "nats://127.0.0.1:1"}
"""Servers that are not there: a service lives and waits for them."""


@pytest.fixture(scope="module")
def forks() -> Iterator[ForkServer]:
    """One for all of them."""
    with ForkServer(WARM) as forks:
        yield forks


def started(forks: ForkServer, log: Path, module: str = "askbus_expiry", **env: str) -> Child:
    argv = (sys.executable, "-m", module)
    return forks.start(argv, log=log, death_signal=signal.SIGKILL, env=env)


async def test_what_is_forked_has_its_own_environment_log_and_exit_code(forks: ForkServer, tmp_path: Path) -> None:
    """A service without its settings says which, in its own log, and ends with 1: nothing of the fork server's environment is left."""
    child = started(forks, tmp_path / "expiry.log", ASKBUS_NATS_URL="nats://127.0.0.1:1")
    assert await child.wait() == 1
    assert "ASKBUS_DATABASE_URL" in (tmp_path / "expiry.log").read_text()
    assert "ASKBUS_NATS_URL" not in (tmp_path / "expiry.log").read_text()


async def test_what_is_forked_is_reached_by_signals_of_its_own(forks: ForkServer, tmp_path: Path) -> None:
    """SIGTERM is its own to handle, as in production; SIGKILL ends one and leaves the other; the exit codes say so."""
    ports = [free_port(), free_port()]
    killed, stopped = (started(forks, tmp_path / f"{port}.log", ASKBUS_HEALTH_PORT=str(port), **NOWHERE) for port in ports)
    for port in ports:
        await until(partial(listens, port))
    assert [os.getsid(child.pid) for child in (killed, stopped)] == [killed.pid, stopped.pid]
    await killed.kill()
    assert await killed.wait() == -signal.SIGKILL
    assert stopped.running
    await stopped.stop(signal.SIGTERM, 15)
    assert await stopped.wait() == 0


async def listens(port: int) -> bool:
    """Whether it has come as far as its own door; the handlers of its signals are older."""
    try:
        _, writer = await asyncio.open_connection("127.0.0.1", port)
    except OSError:
        return False
    writer.close()
    return True


async def test_no_process_outlives_its_fork_server(tmp_path: Path) -> None:
    """As no child of the supervisor outlives the supervisor."""
    with ForkServer(WARM) as forks:
        child = started(forks, tmp_path / "expiry.log", **NOWHERE)
        process = psutil.Process(child.pid)
        assert child.running
    assert await child.wait() == -signal.SIGKILL

    async def gone() -> bool:
        return not process.is_running() or process.status() == psutil.STATUS_ZOMBIE

    await until(gone)
