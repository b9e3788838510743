"""`python -m askbus.demo` as a person runs it: a process of its own, which is believed only by its exit code."""

import asyncio
import json
import os
import shutil
import signal
import sys
import tempfile
from asyncio.subprocess import PIPE, STDOUT, Process
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import psutil

from askbus.demo.business import KESTREL

WITHIN = 240
"""Seconds for all of it, on a machine that does other things too."""


class Play:
    """A demo that runs: what it has printed so far, and every process that was seen below it."""

    def __init__(self, process: Process) -> None:
        self.process = process
        self.output = ""
        self.seen: set[psutil.Process] = set()

    @property
    def folders(self) -> list[Path]:
        """Its temporary folders that are there now."""
        return list(Path(tempfile.gettempdir()).glob(f"askbus-demo-{self.process.pid}-*"))

    async def until(self, text: str) -> None:
        """Reads on until a line holds `text`, or to the end where none does."""
        assert self.process.stdout is not None
        while line := (await self.process.stdout.readline()).decode():
            self.output += line
            self.seen.update(psutil.Process(self.process.pid).children(recursive=True))
            if text in line:
                return

    async def end(self) -> int:
        """The exit code, once everything was printed."""
        await self.until("a line that is not there")
        return await self.process.wait()


@asynccontextmanager
async def play(*arguments: str) -> AsyncIterator[Play]:
    """A demo in a process group of its own, as a shell starts it; without settings of ours."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith("ASKBUS_")}
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "askbus.demo", *arguments), stdout=PIPE, stderr=STDOUT, env=environment, start_new_session=True
    )
    demo = Play(process)
    try:
        async with asyncio.timeout(WITHIN):
            yield demo
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
        for folder in demo.folders:
            shutil.rmtree(folder)


async def test_the_demo_plays_everything_and_leaves_nothing() -> None:
    """Exit code 0, the heart of each scene printed as checked, and neither a process nor a file is left."""
    async with play() as demo:
        assert await demo.end() == 0, demo.output
        assert demo.folders == []
    for checked in (
        "✓ the same link a second time: 401",
        "✓ at the next connect it is told the same once more",
        "✓ nobody answers, and it hears that the question expired",
        "✓ her stream goes on where it ended, without a reset",
        "✓ it took exactly one tool call, query_records",
        "✓ the whole row is, byte for byte, what it was before",
        "✓ every service that had a part is in it",
        "completed unattended",
        "✓ nothing is left running",
    ):
        assert checked in demo.output
    assert "✗" not in demo.output
    assert "Skipped: " in demo.output
    assert "\x1b" not in demo.output
    assert len(demo.seen) > 8
    assert [process for process in demo.seen if process.is_running()] == []


async def test_a_figure_that_is_a_cent_off_fails_the_demo(tmp_path: Path) -> None:
    """A model that writes another number than the tool gave it: exit code 1, and the logs stay for whoever looks into it."""
    entries = json.loads(KESTREL.script.read_text())
    entries[0]["steps"][1]["text"] = "They come to EUR 7,642.99 together."
    script = tmp_path / "script.json"
    script.write_text(json.dumps(entries))
    async with play("--script", str(script)) as demo:
        assert await demo.end() == 1
        assert "✗ and the answer quotes just that figure" in demo.output
        [folder] = demo.folders
        assert f"The logs are in {folder}." in demo.output
        assert (folder / "kestrel" / "logs" / "gateway.log").exists()
    assert "checks held" not in demo.output
    assert len(demo.seen) > 8
    assert [process for process in demo.seen if process.is_running()] == []


async def test_ctrl_c_ends_the_demo_and_all_that_it_started() -> None:
    """The terminal's SIGINT in the middle: exit code 130, and neither a process nor a file is left."""
    async with play() as demo:
        await demo.until("opens http://")
        os.killpg(demo.process.pid, signal.SIGINT)
        assert await demo.end() == 130
        assert demo.folders == []
    assert "Interrupted; everything was stopped." in demo.output
    assert len(demo.seen) > 8
    assert [process for process in demo.seen if process.is_running()] == []
