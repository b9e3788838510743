"""What the demo stands on: a whole stack in a folder of its own, and the scripted model in a process of its own."""

import asyncio
import os
import shlex
import sys
import time
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

from askbus.bus.envelope import Service
from askbus.demo.business import Business, Truth
from askbus.demo.transcript import NotSo, Transcript
from askbus.stack.options import Options
from askbus.stack.ports import is_free
from askbus.stack.supervisor import Stack
from askbus.testing.model_process import ScriptedModel


@dataclass(frozen=True)
class Ground:
    """A running stack, its model, the business it is asked about, and where to write about it all."""

    transcript: Transcript
    stack: Stack
    model: ScriptedModel
    business: Business
    truth: Truth

    async def command(self, *arguments: str) -> str:
        """Runs `askbus …` on this stack as an operator does, and returns what it prints. Raises NotSo where it fails."""
        self.transcript.said("operator", f"askbus {shlex.join(arguments)}")
        return await command(*arguments, "--data", str(self.stack.data.path))


@dataclass(frozen=True)
class Records:
    """A database of the team's own: as askbus may use it, and as an administrator sees it."""

    url: str
    admin_url: str


@asynccontextmanager
async def open_ground(
    transcript: Transcript, folder: Path, business: Business, *, script: Path | None = None, records: Records | None = None
) -> AsyncIterator[Ground]:
    """Everything is up inside, and gone afterwards, which is checked. `records` is another database than the sample.

    `script` is what the model says instead of the business's own.
    """
    async with AsyncExitStack() as life:
        with transcript.scene("Everything starts, on this machine alone"):
            began = time.monotonic()
            model = await life.enter_async_context(ScriptedModel(script or business.script))
            transcript.said(
                "askbus", "starts Postgres, NATS and its six services, each a process, with their data in a temporary folder"
            )
            transcript.said("assistant", f"is a script in a process of its own at {model.base_url}, behind the real SDK")
            transcript.more("(a real model, for `askbus up`: ASKBUS_MODEL_BASE_URL, ASKBUS_MODEL_API_KEY, ASKBUS_MODEL_NAME)")
            env = {"ASKBUS_MODEL_BASE_URL": model.base_url, "ASKBUS_MODEL_NAME": "script"}
            stack = await life.enter_async_context(
                Stack(Options(data=folder, records_url=records.url if records else None, env=env))
            )
            transcript.said("askbus", f"is up at {stack.http_url}")
            ready = [name for name, service in stack.services.items() if await service.refresh()]
            transcript.holds(len(ready) == len(Service), f"ready after {time.monotonic() - began:.1f} s: {', '.join(ready)}")
        admin_url = records.admin_url if records else stack.postgres.database_url("records")
        yield Ground(transcript, stack, model, business, Truth(admin_url, business))
        processes = (*stack.services.values(), *stack.servers.values())
        pids = [process.pid for process in processes]
        ports = [*(process.port for process in processes), urlsplit(model.base_url).port or 0]
        transcript.begin("Everything stops")
    left = [pid for pid in pids if _runs(pid)] + [port for port in ports if not is_free(port)]
    transcript.holds(not left, f"nothing is left running: {len(pids)} processes ended, {len(ports)} ports are free again")


async def command(*arguments: str) -> str:
    """Runs `askbus …`, and returns what it prints. Raises NotSo where it fails."""
    program = (sys.executable, "-c", "from askbus.cli import main; main()")
    pipe = asyncio.subprocess.PIPE
    process = await asyncio.create_subprocess_exec(
        *program, *arguments, stdin=asyncio.subprocess.DEVNULL, stdout=pipe, stderr=pipe
    )
    try:
        output, errors = await process.communicate()
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
    if process.returncode != 0:
        raise NotSo(f"askbus {' '.join(arguments)} failed: {errors.decode().strip()}")
    return output.decode().strip()


def _runs(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True
