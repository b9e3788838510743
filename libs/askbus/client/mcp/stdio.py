"""Lines over file descriptors: read and written by threads, since no event loop can wait for every kind of standard input there is.

Bytes all the way: no text layer that would translate line ends, nor one whose lock outlives the process.
"""

import asyncio
import os
import threading
from collections.abc import AsyncIterator, Iterable, Iterator
from contextlib import suppress

CHUNK = 1 << 16
LONGEST_LINE = 4 << 20
"""Bytes. More than the gateway takes, so that its own refusal reaches whoever wrote the line, with the id."""
AHEAD = 64
"""Lines that are read before the first of them is looked at."""
LAST_WORDS = 2.0
"""Seconds in which what is left to say must be taken."""


def lines_of(chunks: Iterable[bytes], most: int = LONGEST_LINE) -> Iterator[bytes | None]:
    """The lines without their ends; None for one that is longer than `most` bytes, of which nothing is kept. The last may have no end."""
    kept, skipping = bytearray(), False
    for chunk in chunks:
        *ended, rest = chunk.split(b"\n")
        for part in ended:
            yield None if skipping or len(kept) + len(part) > most else bytes(kept + part)
            kept.clear()
            skipping = False
        skipping = skipping or len(kept) + len(rest) > most
        if skipping:
            kept.clear()
        else:
            kept += rest
    if skipping:
        yield None
    elif kept:
        yield bytes(kept)


async def read_lines(descriptor: int) -> AsyncIterator[bytes | None]:
    """The lines of a file descriptor, as `lines_of` tells them, until its end."""
    loop = asyncio.get_running_loop()
    found: asyncio.Queue[tuple[bytes | None] | None] = asyncio.Queue()
    room = threading.Semaphore(AHEAD)

    def read() -> None:
        with suppress(RuntimeError):  # the loop is gone: nobody listens any more
            with suppress(OSError):
                for line in lines_of(iter(lambda: os.read(descriptor, CHUNK), b"")):
                    room.acquire()
                    loop.call_soon_threadsafe(found.put_nowait, (line,))
            loop.call_soon_threadsafe(found.put_nowait, None)

    threading.Thread(target=read, name="askbus mcp: input", daemon=True).start()
    while (line := await found.get()) is not None:
        room.release()
        yield line[0]


class Output:
    """Lines to a file descriptor, whole and one after the other, in the order in which they are said."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        self._said: asyncio.Queue[bytes] = asyncio.Queue()
        self._writer = asyncio.create_task(self._write(), name="askbus mcp: output")

    def say(self, line: bytes) -> None:
        self._said.put_nowait(line)

    async def broken(self) -> None:
        """Returns when nobody reads any more."""
        await asyncio.wait({self._writer})

    async def close(self) -> None:
        """Returns when all was taken, nobody takes it any more, or nobody did for two seconds."""
        rest = asyncio.create_task(self._said.join())
        await asyncio.wait({rest, self._writer}, timeout=LAST_WORDS, return_when=asyncio.FIRST_COMPLETED)
        for task in (rest, self._writer):
            task.cancel()

    async def _write(self) -> None:
        with suppress(OSError):
            while True:
                line = await self._said.get()
                await asyncio.to_thread(self._write_all, memoryview(line + b"\n"))
                self._said.task_done()

    def _write_all(self, left: memoryview) -> None:
        while left:
            left = left[os.write(self._descriptor, left) :]
