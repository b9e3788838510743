"""`askbus up` as a person runs it: a process of its own that is told to stop, or killed."""

import asyncio
import contextlib
import json
import os
import signal
import sys
from asyncio.subprocess import PIPE, STDOUT, Process
from collections.abc import AsyncIterator
from pathlib import Path

import psutil
import pytest

from askbus.bus.envelope import Service

pytestmark = pytest.mark.requirement("O1")

RUN_UP = Path(__file__).with_name("run_up.py")
PROCESSES = len(Service) + 2


async def start(folder: Path) -> Process:
    """Start it in a process group of its own, as a shell does."""
    return await asyncio.create_subprocess_exec(
        sys.executable, str(RUN_UP), str(folder), stdout=PIPE, stderr=STDOUT, start_new_session=True
    )


async def line_with(process: Process, text: str) -> str:
    """The first line of its output that holds `text`."""
    assert process.stdout is not None
    seen = []
    async with asyncio.timeout(60):
        while line := (await process.stdout.readline()).decode():
            seen.append(line)
            if text in line:
                return line.strip()
    raise AssertionError(f"{text!r} is not in the output:\n{''.join(seen)}")


async def ended(processes: list[psutil.Process]) -> None:
    """Wait until each has ended: the kernel makes its pidfd readable then (pidfd_open(2)), also when it is no child of ours."""
    loop = asyncio.get_running_loop()
    async with asyncio.timeout(20):
        for process in processes:
            with contextlib.suppress(ProcessLookupError):
                end = os.pidfd_open(process.pid)
                readable = asyncio.Event()
                loop.add_reader(end, readable.set)
                await readable.wait()
                loop.remove_reader(end)
                os.close(end)


def drained(folder: Path) -> list[bool]:
    """Of each stand-in, whether its last words are that it was drained."""
    return [json.loads((folder / f"{service}-1.diary").read_text().splitlines()[-1])["event"] == "drained" for service in Service]


@pytest.fixture
async def up(tmp_path: Path) -> AsyncIterator[Process]:
    """`askbus up`, ready."""
    process = await start(tmp_path)
    await line_with(process, "askbus is at http://127.0.0.1:")
    yield process
    if process.returncode is None:
        process.kill()
        await process.wait()


async def test_ctrl_c_ends_everything_in_order(up: Process, tmp_path: Path) -> None:
    """The terminal's SIGINT goes to the whole process group, yet the services are drained by their supervisor, once."""
    children = psutil.Process(up.pid).children(recursive=True)
    os.killpg(up.pid, signal.SIGINT)
    await line_with(up, "Stopped. The data is kept")
    assert await up.wait() == 0
    await ended(children)
    assert all(drained(tmp_path))


async def test_kill_9_of_the_supervisor_leaves_nothing_running(up: Process) -> None:
    """Nobody is left to stop the children, so the kernel does; with Postgres its workers go."""
    children = psutil.Process(up.pid).children(recursive=True)
    assert len(children) > PROCESSES
    up.kill()
    await up.wait()
    await ended(children)


async def test_after_kill_9_the_next_up_finds_its_data(up: Process, tmp_path: Path) -> None:
    """The lock, the ports and the data directory are free again, however the last one ended."""
    up.kill()
    await up.wait()
    again = await start(tmp_path)
    await line_with(again, "askbus is at http://127.0.0.1:")
    again.send_signal(signal.SIGTERM)
    await line_with(again, "Stopped.")
    assert await again.wait() == 0


async def test_ctrl_c_while_starting_ends_what_was_started(tmp_path: Path) -> None:
    """Whoever changes their mind at once is not left with half a stack."""
    process = await start(tmp_path)
    await line_with(process, "migrating")
    children = psutil.Process(process.pid).children(recursive=True)
    process.send_signal(signal.SIGINT)
    assert await process.wait() == 0
    assert children
    await ended(children)


async def test_the_first_start_prints_a_link_to_sign_in(tmp_path: Path) -> None:
    """Once, with the code in the fragment, which browsers send to nobody; the log has no trace of it."""
    process = await start(tmp_path)
    line = await line_with(process, "Sign in within 15 minutes")
    code = line.rpartition("#login=")[2]
    assert len(code) > 20
    process.send_signal(signal.SIGTERM)
    await process.wait()
    for log in (tmp_path / "data" / "logs").iterdir():
        assert code not in log.read_text()


async def test_a_second_up_on_the_same_data_says_so(up: Process, tmp_path: Path) -> None:
    """It ends at once and leaves the first alone."""
    second = await start(tmp_path)
    await line_with(second, f"Another askbus runs on {tmp_path / 'data'} (process {up.pid})")
    assert await second.wait() != 0
    assert up.returncode is None
