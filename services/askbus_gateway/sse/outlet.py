"""One response's sending side, for what one producer writes to one client: bounded, in order, with heartbeats."""

import asyncio
from collections import deque
from collections.abc import Callable

from askbus_gateway.sse.stream import HEARTBEAT, MOST_BUFFERED


class Outlet:
    """What is written is taken by `next`, which sends it. A client that does not read is cut off at a bound."""

    def __init__(self, abort: Callable[[], None]) -> None:
        self.ended = False
        self._abort = abort
        self._buffer: deque[bytes] = deque()
        self._buffered = 0
        self._more = asyncio.Event()

    def write(self, data: bytes) -> None:
        """Queues a live event. A client that stopped reading is cut off: it comes back with its last id."""
        if self.ended:
            return
        self._buffered += len(data)
        if self._buffered > MOST_BUFFERED and self._buffer:
            self.cut()
            return
        self._queue(data)

    def write_whole(self, data: bytes) -> None:
        """Queues what brings the client up to date, however large it is."""
        self._queue(data)

    def _queue(self, data: bytes) -> None:
        if self.ended:
            return
        self._buffer.append(data)
        self._more.set()

    def cut(self) -> None:
        """Ends the connection without another word."""
        self.end()
        self._abort()

    def end(self) -> None:
        """Nothing more is written; what is queued still goes out."""
        self.ended = True
        self._more.set()

    async def next(self, timeout: float) -> bytes | None:
        """What to send next; a heartbeat where nothing came for `timeout` seconds; None at the end."""
        if not self._buffer and not self.ended:
            self._more.clear()
            silence = asyncio.get_running_loop().call_later(timeout, self._more.set)
            try:
                await self._more.wait()
            finally:
                silence.cancel()
            if not self._buffer and not self.ended:
                return HEARTBEAT
        if not self._buffer:
            return None
        data = b"".join(self._buffer)
        self._buffer.clear()
        self._buffered = 0
        return data
