"""The bench's own processes: each prints a first line of JSON when it is there, answers lines with lines, and ends with its parent."""

import asyncio
import json
import sys
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
LONGEST_LINE = 1 << 20
PATIENCE = 60.0
"""Seconds for an answer; the bench fails rather than hangs."""


class Program:
    """The parent's end. `hello` is the process's first line."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self.process = process
        self.hello: Any = None

    @property
    def pid(self) -> int:
        return self.process.pid

    async def ask(self, request: object) -> Any:
        """The answer to a request. Raises TimeoutError, and EOFError where the process has ended."""
        assert self.process.stdin is not None
        self.process.stdin.write(f"{json.dumps(request)}\n".encode())
        return await self.heard()

    async def heard(self) -> Any:
        assert self.process.stdout is not None
        async with asyncio.timeout(PATIENCE):
            line = await self.process.stdout.readline()
        if not line:
            raise EOFError("a process of the bench has ended; its error output says why")
        return json.loads(line)


@asynccontextmanager
async def program(module: str, *arguments: str) -> AsyncIterator[Program]:
    """Runs `python -m <module>` for as long as the context lasts."""
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", module, *arguments),
        cwd=ROOT,
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        limit=LONGEST_LINE,
    )
    running = Program(process)
    try:
        running.hello = await running.heard()
        yield running
    finally:
        assert process.stdin is not None
        process.stdin.close()
        await process.wait()


async def answer_parent(hello: object, answer: Callable[[Any], Awaitable[object]]) -> None:
    """The child's end: says hello, then answers each line until the parent closes its end or is gone."""
    reader = asyncio.StreamReader(limit=LONGEST_LINE)
    await asyncio.get_running_loop().connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), sys.stdin)
    _say(hello)
    while line := await reader.readline():
        _say(await answer(json.loads(line)))


async def until_parent_ends(hello: object) -> None:
    """The child's end where there is nothing to answer."""

    async def nothing(request: object) -> object:
        return request

    await answer_parent(hello, nothing)


def _say(value: object) -> None:
    sys.stdout.write(f"{json.dumps(value)}\n")
    sys.stdout.flush()
