"""The response to a call that may take long: plain JSON where it is soon there, else a stream of its progress that ends with it."""

import asyncio
from collections.abc import Awaitable, Callable

from starlette.requests import Request
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from askbus_gateway.http.gate import gone
from askbus_gateway.mcp.protocol import Incoming
from askbus_gateway.mcp.server import Report, progress
from askbus_gateway.mcp.tool import Progress
from askbus_gateway.sse.response import HEADERS

Work = Callable[[Report], Awaitable[tuple[bytes, int]]]

COMMENT = b": still waiting\n\n"


class Stream(Response):
    """Does `work` and sends what it comes to: a body and its status.

    Who wants to hear of progress gets a stream from the first report on; with `quiet`, whoever has heard nothing for so many seconds does;
    without it, nobody. When the client goes away the work is given up: what it asked for stays asked.
    """

    def __init__(self, incoming: Incoming, work: Work, *, quiet: float | None) -> None:
        super().__init__()
        del self.headers["content-length"]
        self.work, self.quiet = work, quiet
        self.token = incoming.progress_token if quiet is not None else None
        self._told: list[bytes] = []
        self._news = asyncio.Event()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        left = asyncio.ensure_future(gone(Request(scope, receive)))
        work = asyncio.ensure_future(self.work(self._report))
        for one in (left, work):
            one.add_done_callback(lambda _done: self._news.set())
        try:
            begun = False
            while not work.done():
                await self._hear()
                if left.done() and not work.done():
                    return
                begun = await self._pass_on(send, begun=begun)
            await self._end(send, *work.result(), begun=begun)
        finally:
            work.cancel()
            left.cancel()

    def _report(self, made: Progress) -> None:
        if self.token is not None:
            self._told.append(_event(progress(self.token, made)))
            self._news.set()

    async def _hear(self) -> None:
        """Returns when there is news, or nothing was heard for long."""
        try:
            async with asyncio.timeout(self.quiet):
                await self._news.wait()
        except TimeoutError:
            self._told.append(COMMENT)
        self._news.clear()

    async def _pass_on(self, send: Send, *, begun: bool) -> bool:
        """Sends what there is to tell; whether the stream has begun now."""
        if not self._told:
            return begun
        told, self._told = b"".join(self._told), []
        if not begun:
            await send({"type": "http.response.start", "status": 200, "headers": [*self.raw_headers, *HEADERS]})
        await send({"type": "http.response.body", "body": told, "more_body": True})
        return True

    async def _end(self, send: Send, body: bytes, status: int, *, begun: bool) -> None:
        if not begun:
            headers = [(b"content-type", b"application/json"), (b"content-length", str(len(body)).encode())]
            await send({"type": "http.response.start", "status": status, "headers": [*self.raw_headers, *headers]})
        await send({"type": "http.response.body", "body": _event(body) if begun else body})


def _event(message: bytes) -> bytes:
    return b"event: message\ndata: " + message + b"\n\n"
