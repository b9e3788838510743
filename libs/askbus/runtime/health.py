"""The HTTP door of a process: /healthz and /readyz from the first moment, and what a service puts behind them."""

import asyncio
import json
import socket
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager, suppress
from typing import Any

import uvicorn
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from askbus.errors import InvalidInput

Scope = dict[str, Any]
Receive = Callable[[], Awaitable[dict[str, Any]]]
Send = Callable[[dict[str, Any]], Awaitable[None]]
Asgi = Callable[[Scope, Receive, Send], Awaitable[None]]
Probe = Callable[[], Awaitable[bool]]


LARGEST_HEAD = 64 * 1024
"""Bytes of a request's address and headers together."""
FLUSH = 1
"""Seconds in which what was already answered must reach its clients when the process stops."""


class Door:
    """Serves /healthz (this process works) and /readyz (so does everything that it needs); the rest is the service's own.

    Without a port it serves nothing, and `ready` tells the same in process. Until `serve` is called other paths answer 503.
    """

    def __init__(self, host: str, port: int | None, *, drain: float) -> None:
        self.host = host
        self.port = port
        self.drain = drain
        self._inner: Asgi | None = None
        self._alive: Callable[[], bool] = lambda: True
        self._probes: Mapping[str, Probe] | None = None
        self._waits_for = "start"
        self._requests = 0
        self._idle = asyncio.Event()
        self._idle.set()

    def serve(self, app: Asgi) -> None:
        """What answers every other path from now on."""
        self._inner = app

    def waits_for(self, what: str) -> None:
        """What /readyz names until the service is wired."""
        self._waits_for = what

    def alive_while(self, alive: Callable[[], bool]) -> None:
        """What /healthz asks: false means that only a new process helps."""
        self._alive = alive

    def ready_with(self, probes: Mapping[str, Probe] | None) -> None:
        """What must be true to be ready; None while starting and draining."""
        self._probes = probes
        if probes is None:
            self._waits_for = "stop"

    async def finish(self) -> None:
        """Takes no new request of the service's own and lets those that run end, while their connections to Postgres and NATS are
        still there; for at most the drain time."""
        self._inner = None
        with suppress(TimeoutError):
            async with asyncio.timeout(self.drain):
                await self._idle.wait()

    async def ready(self) -> dict[str, bool]:
        """Each thing that readiness needs, and whether it is there; ready when all are."""
        if self._probes is None:
            return {self._waits_for: False}
        return {name: await _holds(probe) for name, probe in self._probes.items()}

    @asynccontextmanager
    async def open(self) -> AsyncIterator[None]:
        """Listens for as long as the context lasts. Raises OSError where the port is taken."""
        if self.port is None:
            yield
            return
        listener = socket.create_server((self.host, self.port), backlog=2048)
        self.port = listener.getsockname()[1]
        config = uvicorn.Config(
            self._app,
            http=StreamProtocol,
            interface="asgi3",
            proxy_headers=False,
            ws="none",
            lifespan="off",
            log_config=None,
            access_log=False,
            server_header=False,
            timeout_graceful_shutdown=FLUSH,  # `finish` has let the requests end; this is for clients that do not read
        )
        server = _Server(config)
        task = asyncio.create_task(server.serve([listener]))
        try:
            yield
        finally:
            server.should_exit = True
            await task

    async def _app(self, scope: Scope, receive: Receive, send: Send) -> None:
        match scope["path"]:
            case "/healthz":
                await _answer(send, 200 if self._alive() else 503, {"alive": self._alive()})
            case "/readyz":
                state = await self.ready()
                await _answer(send, 200 if all(state.values()) else 503, state)
            case _ if self._inner is not None:
                self._requests += 1
                self._idle.clear()
                try:
                    await self._inner(scope, receive, send)
                finally:
                    self._requests -= 1
                    if self._requests == 0:
                        self._idle.set()
            case _:
                doing = "stopping" if self._waits_for == "stop" else "starting"
                body = {"code": "unavailable", "message": f"This service is {doing}. Try again in a moment.", "details": {}}
                await _answer(send, 503, body)


class StreamProtocol(HttpToolsProtocol):
    """uvicorn's protocol, for streams too: little is buffered for a reader that stalls, and a stream may cut its connection off.

    A stalled reader would else swallow megabytes before back-pressure shows, and the response could never be ended.
    """

    _in_head = True
    _head = 0
    """Bytes that came of a head which is not complete."""
    _messages = 0
    _refused = False

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        sock = transport.get_extra_info("socket")
        if sock is not None and sock.family in {socket.AF_INET, socket.AF_INET6}:
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 32 * 1024)
            sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT, 20_000)
            # asyncio's own loop leaves it out for a listener made without a protocol number; each answer then waits 40 ms for an ACK.
            sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

    def data_received(self, data: bytes) -> None:
        if self._refused:
            return
        before = self._messages if self._in_head else None
        super().data_received(data)
        if self._in_head and self._messages == before:
            self._head += len(data)
            if self._head > LARGEST_HEAD:
                self._refuse_head()

    def on_headers_complete(self) -> None:
        self._in_head = False
        if len(self.url) + sum(len(name) + len(value) for name, value in self.headers) > LARGEST_HEAD:
            self._refuse_head()
        else:
            super().on_headers_complete()

    def on_body(self, body: bytes) -> None:
        if not self._refused:
            super().on_body(body)

    def on_message_complete(self) -> None:
        self._in_head, self._head, self._messages = True, 0, self._messages + 1
        if not self._refused:
            super().on_message_complete()

    def _refuse_head(self) -> None:
        """Nothing of it was kept beyond the cap, and nothing else is read from this client."""
        self._refused = True
        if not self.transport.is_closing():
            refusal = InvalidInput(f"A request's address and headers have at most {LARGEST_HEAD} bytes.")
            text = refusal.body().model_dump_json()
            head = (
                "HTTP/1.1 400 Bad Request",
                "content-type: application/json",
                f"content-length: {len(text)}",
                "connection: close",
            )
            self.transport.write("\r\n".join([*head, "", text]).encode())
            self.transport.write_eof()  # closed at once with bytes unread, the answer would be lost with the connection
            self.loop.call_later(FLUSH, self.transport.close)

    def on_message_begin(self) -> None:
        super().on_message_begin()
        self.scope["askbus.abort"] = self.transport.abort  # type: ignore[typeddict-unknown-key]
        self.scope["askbus.hand_over"] = self.hand_over  # type: ignore[typeddict-unknown-key]

    def hand_over(self, protocol: asyncio.Protocol) -> asyncio.Transport | None:
        """Gives the connection away whose (chunked) response has begun: what else is written and read there is `protocol`'s, and
        nothing of the request is kept. None where the client has gone already."""
        cycle, transport = self.cycle, self.transport
        if cycle.disconnected or transport.is_closing():
            return None
        cycle.disconnected = True  # the application returns without having sent the end
        self._unset_keepalive_if_required()
        self.connections.discard(self)
        self.flow.resume_reading()
        transport.set_protocol(protocol)
        self.parser = None  # type: ignore[assignment]
        self.cycle = None  # type: ignore[assignment]
        return transport


class _Server(uvicorn.Server):
    """Signals are the process's own business (askbus.runtime.service)."""

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield


async def _holds(probe: Probe) -> bool:
    try:
        return await probe()
    except Exception:  # noqa: BLE001  # a probe that fails is the answer
        return False


async def _answer(send: Send, status: int, body: Mapping[str, object]) -> None:
    text = json.dumps(body).encode()
    headers = [(b"content-type", b"application/json"), (b"content-length", str(len(text)).encode())]
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": text})
