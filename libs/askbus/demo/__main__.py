"""`python -m askbus.demo`: exit code 0 only if every step was checked and held, 1 if not, 130 when it was interrupted."""

import argparse
import asyncio
import os
import shutil
import signal
import sys
import tempfile
from contextlib import AsyncExitStack
from pathlib import Path

from rich.console import Console

from askbus.cli.up import log_to
from askbus.demo.arrival import arrive
from askbus.demo.asking import streams_are_resumed
from askbus.demo.business import KESTREL
from askbus.demo.chinook import play_chinook
from askbus.demo.conversation import a_change, a_figure
from askbus.demo.crash import the_agent_loop_is_killed
from askbus.demo.ground import open_ground
from askbus.demo.tracing import the_traces_are_whole
from askbus.demo.transcript import NotSo, Transcript
from askbus.errors import AskbusError
from askbus.stack.process import StackError

CHINOOK_SQL = "ASKBUS_CHINOOK_SQL"
FAILED, INTERRUPTED = 1, 130


async def play(t: Transcript, folder: Path, script: Path | None) -> None:
    """Every scene on the sample business. Raises NotSo at the first check that does not hold."""
    async with open_ground(t, folder, KESTREL, script=script) as ground, AsyncExitStack() as here:
        with t.scene("The first owner, a second person, an agent"):
            cast = await here.enter_async_context(arrive(ground))
        with t.scene("An agent asks people; streams are dropped and resumed"):
            await streams_are_resumed(ground, cast)
        with t.scene("A person asks for a figure"):
            await a_figure(ground, cast.mia, cast.project)
        with t.scene("A person asks for a change"):
            traces = await a_change(ground, cast.mia, cast.project)
        with t.scene("The same as traces: the message, the answer, the confirmation"):
            await the_traces_are_whole(ground, traces)
        with t.scene("A service is killed in the middle of a sentence"):
            await the_agent_loop_is_killed(ground, cast.mia, cast.project)


async def run(t: Transcript, folder: Path, script: Path | None, chinook: str | None) -> None:
    """Both halves; the second where its database was named."""
    t.note(
        "The whole of askbus once, over its public HTTP API and the bus. ✓ is a check: the first that does not hold ends this."
    )
    await play(t, folder / "kestrel", script)
    if chinook is None:
        t.console.print()
        t.note(
            f"Skipped: the same on a database made elsewhere. Set {CHINOOK_SQL} to the file of Chinook's Postgres SQL to see it."
        )
    else:
        await play_chinook(t, folder / "chinook", Path(chinook))
    t.console.print()
    t.note(f"{t.checks} checks held, in {t.seconds:.1f} s.")


async def interruptible(t: Transcript, folder: Path, script: Path | None, chinook: str | None) -> int:
    """Runs it; a signal ends it in order, a second one at once. Returns the exit code."""
    task = asyncio.ensure_future(run(t, folder, script, chinook))
    loop = asyncio.get_running_loop()
    signals = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)

    def interrupted() -> None:
        task.cancel()
        for again in signals:
            loop.add_signal_handler(again, os._exit, INTERRUPTED)  # the kernel takes the children along

    for number in signals:
        loop.add_signal_handler(number, interrupted)
    try:
        await task
    except asyncio.CancelledError:
        t.note("Interrupted; everything was stopped.")
        return INTERRUPTED
    except (NotSo, StackError, AskbusError, TimeoutError) as error:
        t.failed(f"The demo ends here: {error}")
        return FAILED
    return 0


def main() -> int:
    """Plays it in a temporary folder, which stays only where the demo failed: its logs say why."""
    parser = argparse.ArgumentParser(prog="python -m askbus.demo", description="The whole of askbus once, checked step by step.")
    parser.add_argument("--script", type=Path, help="what the model says, instead of the demo's own script")
    options = parser.parse_args()
    chinook = os.environ.get(CHINOOK_SQL) or None
    for name in [name for name in os.environ if name.startswith("ASKBUS_")]:
        del os.environ[name]  # settings of another deployment are no part of this one
    t = Transcript(Console(highlight=False))
    folder = Path(tempfile.mkdtemp(prefix=f"askbus-demo-{os.getpid()}-"))
    log_to(folder / "demo.log")
    code = FAILED
    try:
        code = asyncio.run(interruptible(t, folder, options.script, chinook))
    finally:
        if code == FAILED:
            t.failed(f"The logs are in {folder}.")
        else:
            shutil.rmtree(folder)
    return code


if __name__ == "__main__":
    sys.exit(main())
